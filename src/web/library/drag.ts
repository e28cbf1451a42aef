import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { tellFailure } from '../ui/failure.ts'
import { isSettled } from '../ui/press.ts'
import { say } from '../words/words.ts'
import { moveBefore, moveInto } from './actions.ts'
import { withContents } from './contents.ts'
import { isFolder, nameOf } from './kind.ts'

interface DragParts {
  sync: Sync
  ids: readonly string[]
  selected: ReadonlySet<string>
  /** Set if a folder is shown in the person's own order: only then can a row be dropped between two others. */
  folder: { id: string | undefined } | undefined
  isCards: boolean
}

/** Pixels that the pointer must move before a press becomes a drag. */
const threshold = 6
/** Pixels from the edge of a scrollable area within which a drag scrolls it. */
const edge = 56
/** Milliseconds after which a closed folder or section of the sidebar opens under the pointer during a drag. */
const opensAfterMs = 700

/**
 * Lets the person drag rows, and folders in the sidebar, to another place or into a folder. A mouse drags any part of a row
 * but its buttons, a finger only the icon, because the rest scrolls. The keys for moving are Alt with the arrow keys, and `m`.
 */
export function useDrag(list: RefObject<HTMLElement | null>, parts: DragParts): void {
  usePress(list, (event, target, item) => {
    const isHandle = event.pointerType === 'mouse' ? !target.closest(tools) : target.closest(handles)
    if (isHandle && event.button === 0) follow(event, item.dataset.id ?? '', parts)
  })
}

/** A finger drags by the icon, or by the checkbox over it. */
const handles = '[data-icon], input, #sidebar [data-main] > svg'
const tools = 'button, [role=menu]'

/** Calls `begin` when a pointer is pressed on an item of the list. */
function usePress(
  list: RefObject<HTMLElement | null>,
  begin: (event: PointerEvent, target: HTMLElement, item: HTMLElement) => void,
): void {
  const latest = useRef(begin)
  latest.current = begin
  useLayoutEffect(() => {
    const element = list.current as HTMLElement
    const press = (event: PointerEvent) => {
      const target = event.target as HTMLElement
      const item = target.closest<HTMLElement>('li[data-id]')
      if (item && isSettled(item)) latest.current(event, target, item)
    }
    element.addEventListener('pointerdown', press)
    return () => element.removeEventListener('pointerdown', press)
  }, [])
}

/** Milliseconds after which a touch is a long press. */
const longPressMs = 500

/** Calls `pressed` with the id of the row on which a finger rests. The browser then does not show its own menu. */
export function useLongPress(list: RefObject<HTMLElement | null>, pressed: (id: string) => void): void {
  usePress(list, (start, _, item) => {
    if (start.pointerType !== 'touch') return
    const ended = new AbortController()
    const { signal } = ended
    const timer = setTimeout(() => {
      pressed(item.dataset.id ?? '')
      // Some browsers send a click after a long press, too.
      addEventListener('click', swallow, { capture: true, once: true })
      const free = () => removeEventListener('click', swallow, { capture: true })
      addEventListener('pointerdown', free, { capture: true, once: true })
    }, longPressMs)
    const end = () => {
      clearTimeout(timer)
      ended.abort()
    }
    const move = (event: PointerEvent) => {
      if (Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) >= threshold) end()
    }
    addEventListener('pointermove', move, { signal })
    addEventListener('pointerup', end, { signal })
    addEventListener('pointercancel', end, { signal })
  })
  useLayoutEffect(() => {
    const element = list.current as HTMLElement
    const noMenu = (event: MouseEvent) => {
      const isFinger = (event as PointerEvent).pointerType === 'touch'
      if (isFinger && (event.target as HTMLElement).closest('li[data-id]')) event.preventDefault()
    }
    element.addEventListener('contextmenu', noMenu)
    return () => element.removeEventListener('contextmenu', noMenu)
  }, [])
}

/** Pixels that a row must be swiped: letting go earlier does nothing. */
const swipeLength = 88

type Side = 'left' | 'right'

interface SwipeAction {
  /** Shown in the place that the row uncovers. */
  name: string
  run(id: string): unknown
}

/** Handles horizontal swipes of a row. Vertical swipes scroll, and swipes that start on the icon drag the row. */
export function useSwipe(list: RefObject<HTMLElement | null>, actions: Record<Side, SwipeAction> | false): void {
  usePress(list, (event, target, item) => {
    const isSwipe = event.pointerType === 'touch' && !target.closest(`${handles}, ${tools}`)
    if (actions && isSwipe) draw(event, item, actions)
  })
}

function draw(start: PointerEvent, item: HTMLElement, actions: Record<Side, SwipeAction>): void {
  const row = item.firstElementChild as HTMLElement
  const ended = new AbortController()
  const { signal } = ended
  let drawn = 0
  const end = () => {
    ended.abort()
    row.style.translate = ''
    delete item.dataset.swipe
  }
  const move = (event: PointerEvent) => {
    if (event.pointerId !== start.pointerId) return
    const [x, y] = [event.clientX - start.clientX, event.clientY - start.clientY]
    if (drawn === 0 && Math.hypot(x, y) < threshold) return
    if (drawn === 0 && Math.abs(y) > Math.abs(x)) return end()
    drawn = x || 1
    const side = drawn < 0 ? 'left' : 'right'
    item.dataset.swipe = Math.abs(drawn) < swipeLength ? side : `${side} far`
    item.dataset.swipeName = actions[side].name
    row.style.translate = `${drawn}px`
  }
  const drop = async (event: PointerEvent) => {
    if (event.pointerId !== start.pointerId) return
    end()
    if (drawn !== 0) swallowClick()
    if (Math.abs(drawn) < swipeLength) return
    try {
      await actions[drawn < 0 ? 'left' : 'right'].run(item.dataset.id ?? '')
    } catch (error) {
      tellFailure(error)
    }
  }
  addEventListener('pointermove', move, { signal })
  addEventListener('pointerup', drop, { signal })
  addEventListener('pointercancel', end, { signal })
}

function follow(start: PointerEvent, id: string, parts: DragParts): void {
  const { sync, ids, selected } = parts
  const moving = selected.has(id) ? ids.filter((one) => selected.has(one)) : [id]
  const inside = new Set(withContents(sync, moving).map((bookmark) => bookmark.id))
  let scroller = (start.target as HTMLElement).closest<HTMLElement>('[data-scrolls]')
  let closed: HTMLElement | undefined
  let opening: ReturnType<typeof setTimeout> | undefined
  const ended = new AbortController()
  const { signal } = ended
  let picture: DragPicture | undefined
  let place: Place | undefined
  let at = start

  const look = () => {
    const under = document.elementFromPoint(at.clientX, at.clientY) ?? undefined
    scroller = under?.closest<HTMLElement>('[data-scrolls]') ?? scroller
    open(
      under?.closest('#sidebar [data-drop-folder], h2')?.querySelector<HTMLElement>('[aria-expanded=false]') ??
        undefined,
    )
    place = dropAt(at, under, moving, inside, parts)
    picture?.show(at.clientX, at.clientY, place)
  }
  const open = (next: HTMLElement | undefined) => {
    if (next === closed) return
    clearTimeout(opening)
    closed = next
    if (next) opening = setTimeout(() => next.click(), opensAfterMs)
  }
  const scroll = () => {
    if (signal.aborted) return
    look()
    if (scroller) {
      const { top, bottom } = scroller.getBoundingClientRect()
      scroller.scrollTop += at.clientY < top + edge ? -8 : at.clientY > bottom - edge ? 8 : 0
    }
    requestAnimationFrame(scroll)
  }
  const move = (event: PointerEvent) => {
    if (event.pointerId !== start.pointerId) return
    at = event
    if (!picture) {
      if (Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < threshold) return
      picture = createDragPicture(textOf(sync, moving))
      requestAnimationFrame(scroll)
    }
    event.preventDefault()
    look()
  }
  const end = () => {
    ended.abort()
    clearTimeout(opening)
    picture?.remove()
  }
  const drop = (event: PointerEvent) => {
    if (event.pointerId !== start.pointerId) return
    if (picture) swallowClick()
    end()
    if (picture && place) put(sync, moving, place).catch(tellFailure)
  }
  addEventListener('pointermove', move, { signal })
  addEventListener('pointerup', drop, { signal })
  addEventListener('pointercancel', end, { signal })
  addEventListener('keydown', (event) => event.key === 'Escape' && end(), { signal })
}

function put(sync: Sync, ids: readonly string[], place: Place): Promise<void> {
  return 'into' in place ? moveInto(sync, ids, place.into) : moveBefore(sync, ids, place.folder, place.before)
}

function textOf(sync: Sync, ids: readonly string[]): string {
  const bookmark = sync.get(ids[0] ?? '')
  return ids.length === 1 && bookmark ? nameOf(bookmark) : say.ui.bookmarks(ids.length)
}

/** Ignores the click that browsers send after the end of a drag or swipe. */
function swallowClick(): void {
  addEventListener('click', swallow, { capture: true, once: true })
  setTimeout(() => removeEventListener('click', swallow, { capture: true }))
}

function swallow(event: Event): void {
  event.preventDefault()
  event.stopPropagation()
}

/** A place to drop something, and the box in which to mark that place. */
type Place = { box: DOMRect } & (
  | { into: string | undefined }
  | { folder: string | undefined; before: string | undefined }
)

/** The share at the top and at the bottom of a folder's row where a drop is above or below the folder, not into it. */
const outer = 0.25

/**
 * The drop target under the pointer: a folder, or a gap between two rows.
 *
 * @param inside what is dragged, with its contents: a folder cannot be dropped into itself
 */
function dropAt(
  at: PointerEvent,
  under: Element | undefined,
  moving: readonly string[],
  inside: ReadonlySet<string>,
  parts: DragParts,
): Place | undefined {
  const { folder, isCards } = parts
  const { clientX: x, clientY: y } = at
  const line = under?.closest<HTMLElement>('#sidebar li[data-id] [data-drop-folder]')
  const gap = line && betweenFolders(line, y, moving, inside, parts.sync)
  if (gap) return gap
  const row = under?.closest<HTMLElement>('main [data-columns] > li') ?? undefined
  const target = under?.closest<HTMLElement>('[data-drop-folder]') ?? undefined
  const into = target?.dataset.dropFolder
  if (target && into !== undefined && !inside.has(into)) {
    const box = target.getBoundingClientRect()
    const part = row && isCards ? (x - box.left) / box.width : (y - box.top) / box.height
    if (!row || !folder || (part > outer && part < 1 - outer)) return { box, into: into === '' ? undefined : into }
  }
  if (!row || !folder) return undefined
  return between(row, x, y, isCards, moving, folder.id)
}

/** The place above or below a folder of the sidebar. Only folders can be dropped there. */
function betweenFolders(
  line: HTMLElement,
  y: number,
  moving: readonly string[],
  inside: ReadonlySet<string>,
  sync: Sync,
): Place | undefined {
  const id = line.dataset.dropFolder ?? ''
  const target = sync.get(id)
  const areFolders = moving.every((one) => {
    const bookmark = sync.get(one)
    return bookmark !== undefined && isFolder(bookmark)
  })
  if (!target || !areFolders || inside.has(id)) return undefined
  const { left, top, bottom, width, height } = line.getBoundingClientRect()
  const isAbove = y < top + outer * height
  // Below an open folder, the sidebar shows its contents, so there is no place for a sibling.
  if (!isAbove && (y < bottom - outer * height || line.querySelector('[aria-expanded=true]'))) return undefined
  const siblings = sync.contents(target.parentId)
  const next = siblings.slice(siblings.indexOf(id) + 1).find((one) => !moving.includes(one))
  const box = new DOMRect(left, isAbove ? top : bottom, width, 0)
  return { box, folder: target.parentId, before: isAbove ? id : next }
}

function between(
  row: HTMLElement,
  x: number,
  y: number,
  isCards: boolean,
  moving: readonly string[],
  folder: string | undefined,
): Place {
  const box = row.getBoundingClientRect()
  const isAfter = isCards ? x > box.left + box.width / 2 : y > box.top + box.height / 2
  let next: Element | null = isAfter ? row.nextElementSibling : row
  while (next instanceof HTMLElement && moving.includes(next.dataset.id ?? '')) next = next.nextElementSibling
  const before = next instanceof HTMLElement ? next.dataset.id : undefined
  const line = isCards
    ? new DOMRect(isAfter ? box.right - 8 : box.left - 8, box.top, 0, box.height - 12)
    : new DOMRect(box.left, isAfter ? box.bottom : box.top, box.width, 0)
  return { box: line, folder, before }
}

/** Shows a drag: a label at the pointer, and where it would be dropped. */
interface DragPicture {
  show(x: number, y: number, place: Place | undefined): void
  remove(): void
}

function createDragPicture(text: string): DragPicture {
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
