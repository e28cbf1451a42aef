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
  /** Folders come first. */
  rank: number
  key: string
}

/** Keeps the order that it returned last: sorting what is almost sorted already is a matter of one comparison for each. */
function sorter(idsOf: (sync: SyncReader) => readonly string[], order: Order) {
  if (order === 'own') return idsOf
  const keyOf = keysOf[order]
  const entriesOf = new WeakMap<Bookmark, Entry>()
  let last: readonly string[] = []
  return (sync: SyncReader): readonly string[] => {
    const wanted = new Set(idsOf(sync))
    const entries: Entry[] = []
    const add = (id: string) => {
      const bookmark = sync.get(id)
      if (!bookmark || !wanted.delete(id)) return
      const entry = entriesOf.get(bookmark) ?? { id, rank: isFolder(bookmark) ? 0 : 1, key: keyOf(bookmark) }
      entriesOf.set(bookmark, entry)
      entries.push(entry)
    }
    for (const id of last) add(id)
    for (const id of [...wanted]) add(id)
    const sign = order === 'newest' ? -1 : 1
    entries.sort(
      (one, other) => one.rank - other.rank || sign * compare(one.key, other.key) || compare(one.id, other.id),
    )
    last = entries.map(({ id }) => id)
    return last
  }
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
