import { useMemo } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useSelection } from '../../client/react.ts'
import { byTree } from './by-tree.ts'
import { type Bookmark, hostOf, isFolder, nameOf } from './kind.ts'

/** How a list is sorted; `own` is the order that the person has given their bookmarks. */
export type Order = 'own' | 'title' | 'host' | 'newest' | 'oldest'

export const orders: readonly { order: Order; label: string }[] = [
  { order: 'own', label: 'My own order' },
  { order: 'title', label: 'By title' },
  { order: 'host', label: 'By site' },
  { order: 'newest', label: 'Newest first' },
  { order: 'oldest', label: 'Oldest first' },
]

/** @param idsOf in the person's own order; a function from outside the component, or from `useCallback` */
export function useSorted(idsOf: (sync: SyncReader) => readonly string[], order: Order): readonly string[] {
  return useSelection(useMemo(() => byTree(sorter(idsOf, order)), [idsOf, order]))
}

interface Entry {
  id: string
  bookmark: Bookmark
  /** Folders come first. */
  rank: number
  key: string
}

/** Keeps the order that it returned last, and puts what has changed since into it: an edit does not sort everything again. */
function sorter(idsOf: (sync: SyncReader) => readonly string[], order: Order) {
  if (order === 'own') return idsOf
  const keyOf = keysOf[order]
  const sign = order === 'newest' ? -1 : 1
  const inOrder = (one: Entry, other: Entry) =>
    one.rank - other.rank || sign * compare(one.key, other.key) || compare(one.id, other.id)
  let sorted: readonly Entry[] = []
  return (sync: SyncReader): readonly string[] => {
    const missing = new Set(idsOf(sync))
    const kept = sorted.filter((entry) => sync.get(entry.id) === entry.bookmark && missing.delete(entry.id))
    const fresh = [...missing].flatMap((id) => {
      const bookmark = sync.get(id)
      return bookmark ? { id, bookmark, rank: isFolder(bookmark) ? 0 : 1, key: keyOf(bookmark) } : []
    })
    sorted = merge(kept, fresh.sort(inOrder), inOrder)
    return sorted.map(({ id }) => id)
  }
}

/** Both in order. */
function merge<T>(ones: readonly T[], others: readonly T[], inOrder: (one: T, other: T) => number): T[] {
  const merged: T[] = []
  let next = 0
  for (const other of others) {
    for (let one = ones[next]; one !== undefined && inOrder(one, other) < 0; one = ones[++next]) merged.push(one)
    merged.push(other)
  }
  return merged.concat(ones.slice(next))
}

const keysOf: Record<Exclude<Order, 'own'>, (bookmark: Bookmark) => string> = {
  title: (bookmark) => folded(nameOf(bookmark)),
  host: (bookmark) => `${hostOf(bookmark)} ${folded(nameOf(bookmark))}`,
  newest: ({ dateAdded = '' }) => dateAdded,
  oldest: ({ dateAdded = '' }) => dateAdded,
}

function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
