import type { PlaintextBookmark } from '../bookmark.ts'
import { byPosition } from './position.ts'

/** The contents of each folder, in order. The key `undefined` holds the top level. */
export type Contents = Map<PlaintextBookmark | undefined, PlaintextBookmark[]>

/**
 * Sorts bookmarks into their folders, each into exactly one place. If the parent is missing or not a folder, the bookmark
 * goes to the top level. A cycle is cut at whichever of its folders comes first.
 */
export function arrange(bookmarks: readonly PlaintextBookmark[]): Contents {
  const parents = findParents(bookmarks)
  cutCycles(parents)
  const contents: Contents = new Map()
  for (const bookmark of bookmarks) {
    const siblings = contents.get(parents.get(bookmark))
    if (siblings) siblings.push(bookmark)
    else contents.set(parents.get(bookmark), [bookmark])
  }
  for (const siblings of contents.values()) siblings.sort(byPosition)
  return contents
}

export function kindOf({ url, type }: PlaintextBookmark): 'link' | 'folder' | 'separator' {
  if (typeof url === 'string') return 'link'
  return type === 'separator' ? 'separator' : 'folder'
}

type Parents = Map<PlaintextBookmark, PlaintextBookmark | undefined>

function findParents(bookmarks: readonly PlaintextBookmark[]): Parents {
  const folders = new Map<string, PlaintextBookmark>()
  for (const bookmark of bookmarks) {
    if (kindOf(bookmark) === 'folder' && !folders.has(bookmark.id)) folders.set(bookmark.id, bookmark)
  }
  return new Map(bookmarks.map((bookmark) => [bookmark, folders.get(bookmark.parentId ?? '')]))
}

function cutCycles(parents: Parents): void {
  const settled = new Set<PlaintextBookmark>()
  for (const [start, parent] of parents) {
    if (!parent || settled.has(parent)) continue
    const trail = new Set<PlaintextBookmark>()
    let at: PlaintextBookmark | undefined = start
    while (at && !settled.has(at) && !trail.has(at)) {
      trail.add(at)
      at = parents.get(at)
    }
    if (at && trail.has(at)) parents.set(at, undefined)
    for (const bookmark of trail) settled.add(bookmark)
  }
}
