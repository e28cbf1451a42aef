import type { Place } from './drop-place.ts'

/** What is seen of a drag: a label at the pointer, and where it would be dropped. */
export interface DragPicture {
  show(x: number, y: number, place: Place | undefined): void
  remove(): void
}

export function createDragPicture(text: string): DragPicture {
  const label = make('drag-label')
  const target = make('drag-target')
  label.textContent = text
  document.documentElement.classList.add('dragging')
  return {
    show(x, y, place) {
      label.style.translate = `${x + 12}px ${y + 12}px`
      target.hidden = place === undefined
      if (!place) return
      const { left, top, width, height } = place.box
      target.className = 'into' in place ? 'drag-target into' : 'drag-target'
      Object.assign(target.style, { translate: `${left}px ${top}px`, width: `${width}px`, height: `${height}px` })
    },
    remove() {
      document.documentElement.classList.remove('dragging')
      label.remove()
      target.remove()
    },
  }
}

function make(name: string): HTMLElement {
  const made = document.createElement('div')
  made.className = name
  made.setAttribute('aria-hidden', 'true')
  document.body.append(made)
  return made
}
