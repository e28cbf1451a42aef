import type { Conflict, PlaintextBookmark, Sync } from '../client/index.ts'
import { button, element } from './dom.ts'

/** Edits on this device that lost to another device's, each with a way to restore it. */
export function conflictList(sync: Sync): HTMLElement {
  const list = element('ul', {})
  const section = element(
    'section',
    { className: 'card', hidden: true, id: 'conflicts' },
    element('h2', {}, 'Conflicts'),
    list,
  )
  sync.on('conflict', (conflict) => {
    const item = element('li', { 'data-id': conflict.id }, element('p', {}, describe(conflict)))
    const settle = () => {
      item.remove()
      section.hidden = list.children.length === 0
    }
    item.append(
      button('Restore mine', async () => {
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
  return `This device: ${nameOf(mine)}. Another device: ${nameOf(theirs)}, which was kept.`
}

function nameOf(bookmark: PlaintextBookmark | null): string {
  return bookmark ? `“${bookmark.title || bookmark.url || 'untitled'}”` : 'deleted'
}
