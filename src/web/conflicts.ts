import type { Conflict, PlaintextBookmark, Sync } from '../client/index.ts'
import { button, element } from './dom.ts'

/** Edits on this device that lost to another edit, until somebody decides about them. */
export function conflictList(sync: Sync): HTMLElement {
  const list = element('ul', {})
  const section = element('section', { className: 'card', id: 'conflicts' }, element('h2', {}, 'Conflicts'), list)
  const show = () => {
    const conflicts = sync.conflicts()
    section.hidden = conflicts.length === 0
    const ids = [...new Set(conflicts.map(({ id }) => id))]
    list.replaceChildren(
      ...ids.map((id) =>
        item(
          sync,
          id,
          conflicts.filter((conflict) => conflict.id === id),
        ),
      ),
    )
  }
  sync.on('conflict', show)
  sync.on('status', show)
  show()
  return section
}

function item(sync: Sync, id: string, conflicts: Conflict[]): HTMLElement {
  return element(
    'li',
    { 'data-id': id },
    ...conflicts.map((conflict) => element('p', {}, describe(conflict))),
    button('Restore mine', () => sync.resolve(id, 'mine')),
    button('Keep theirs', () => sync.resolve(id, 'theirs')),
  )
}

function describe({ fields, mine, theirs }: Conflict): string {
  const what = fields.length > 0 ? ` (${fields.map((field) => fieldNames[field] ?? field).join(', ')})` : ''
  return `This device: ${nameOf(mine)}. Another edit: ${nameOf(theirs)}, which was kept${what}.`
}

const fieldNames: Record<string, string> = { url: 'address', parentId: 'folder' }

function nameOf(bookmark: PlaintextBookmark | null): string {
  return bookmark ? `“${bookmark.title || bookmark.url || 'untitled'}”` : 'deleted'
}
