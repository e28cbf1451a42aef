import { compareLast, findParents, kindOf, parentOf, type TreeNode } from '../bookmark/tree.ts'
import type { PlaintextBookmark } from '../bookmark.ts'

/** The contents of each folder, in order. The key `undefined` holds the top level. */
export type Contents = Map<PlaintextBookmark | undefined, PlaintextBookmark[]>

/**
 * Sorts bookmarks into their folders, each into exactly one place. If the parent is missing or not a folder, the
 * bookmark goes to the top level. A cycle is cut at the folder that comes first. If folders have the same id, the first
 * gets the contents of all. Items without a position come last. Items with equal positions keep their order.
 */
export function arrange(bookmarks: readonly PlaintextBookmark[]): Contents {
  const folders = new Map<string, TreeNode & { bookmark: PlaintextBookmark }>()
  const places = new Map<string, number>()
  for (const [place, bookmark] of bookmarks.entries()) {
    const { id } = bookmark
    if (kindOf(bookmark) !== 'folder' || folders.has(id)) continue
    folders.set(id, { bookmark, children: [] })
    places.set(id, place)
  }
  const find = (id: string) => folders.get(id)
  const parents = findParents(folders.values(), find, (id) => -(places.get(id) as number))
  const around = (bookmark: PlaintextBookmark) =>
    folders.get(parentOf({ bookmark, children: [] }, parents, find) ?? '')?.bookmark
  const contents = Map.groupBy(bookmarks, around)
  for (const siblings of contents.values()) siblings.sort((one, other) => compareLast(one.position, other.position))
  return contents
}
