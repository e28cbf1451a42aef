import type { Conflict, PlaintextBookmark, Sync } from '../client/index.ts'
import { button, element } from './dom.ts'

/** Edits of this device that lost against another one's, each with a way to take it back. */
export function conflictList(sync: Sync): HTMLElement {
  const list = element('ul', {})
  const section = element(
    'section',
    { className: 'card', hidden: true, id: 'conflicts' },
    element('h2', {}, 'Edited twice'),
    list,
  )
  sync.on('conflict', (conflict) => {
    const item = element('li', { 'data-id': conflict.id }, element('p', {}, describe(conflict)))
    const settle = () => {
      item.remove()
      section.hidden = list.children.length === 0
    }
    item.append(
      button('Take mine back', async () => {
        await (conflict.mine ? sync.put(conflict.mine) : sync.remove(conflict.id))
        settle()
      }),
      button('Keep theirs', settle),
    )
    list.append(item)
    section.hidden = false
  })
  return section
}

function describe({ mine, theirs }: Conflict): string {
  return `Here: ${nameOf(mine)}. Another device: ${nameOf(theirs)}, which is kept.`
}

function nameOf(bookmark: PlaintextBookmark | null): string {
  return bookmark ? `“${bookmark.title || bookmark.url || 'untitled'}”` : 'deleted'
}
