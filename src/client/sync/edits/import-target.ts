import type { PlaintextBookmark } from '../../bookmark.ts'
import { roleOf } from '../../bookmark-file/marks.ts'
import { emptyPlace, type PathIndex, type Place } from './path-index.ts'

/** Where the contents of a listed folder go. */
export interface Target {
  place: Place
  /** The id of the folder that shows them; undefined at the top level. */
  folder: string | undefined
  /** May be the id of a folder that does not exist: then the top level shows them. */
  parentId: string | undefined
}

export function targetAt(parentId: string | undefined, { places }: PathIndex): Target {
  const folder = places.has(parentId) ? parentId : undefined
  return { place: places.get(folder) as Place, folder, parentId }
}

/**
 * An existing folder with the same id or title, or a new one. A browser's own folder, which the list has at its top level, is
 * the existing one with the same mark, whatever its title.
 */
export function findFolder(item: PlaintextBookmark, around: Place, existing: PathIndex): Target {
  const { id, title } = item
  const { nodes, places, marked } = existing
  if (nodes.has(id)) return targetAt(id, existing)
  const same = around.folders.get(title)
  const role = around === places.get(undefined) ? roleOf(item) : undefined
  const isSame = same && roleOf(nodes.get(same.id)?.bookmark) === role
  if (role && !isSame && marked.has(role)) return targetAt(marked.get(role), existing)
  return same
    ? { place: same.place, folder: same.id, parentId: same.id }
    : { place: emptyPlace(), folder: id, parentId: id }
}
