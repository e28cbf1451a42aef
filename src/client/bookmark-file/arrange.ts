import { kindOf } from '../bookmark/tree.ts'
import type { PlaintextBookmark } from '../bookmark.ts'

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

/** Compares items of a folder for sorting. Items without a position come last; equal ones keep their order. */
export function byPosition(a: { position?: unknown }, b: { position?: unknown }): number {
  if (typeof a.position !== 'string') return typeof b.position === 'string' ? 1 : 0
  if (typeof b.position !== 'string' || a.position < b.position) return -1
  return a.position > b.position ? 1 : 0
}
