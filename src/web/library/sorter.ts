import { useMemo } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useSelection } from '../../client/react.ts'
import { type Bookmark, hostOf, isFolder, nameOf } from './kind.ts'

/** The sort order. `own`: as the person has arranged them; `best`: the best hits of a search first. */
export type Order = 'own' | 'best' | SortedBy

type SortedBy = 'title' | 'host' | 'newest' | 'oldest' | 'count'

type Ids = readonly string[]

interface Entry {
  id: string
  bookmark: Bookmark
  /** 0 for folders and 1 for others, so that folders come first. */
  rank: number
  key: string
}

/**
 * Returns a sort function that keeps its last result and inserts what has changed, so that an edit does not sort
 * everything. If the order is the same, it returns the same array.
 */
export function sorter<Reader extends Pick<SyncReader, 'get'>>(
  idsOf: (sync: Reader) => Ids,
  order: Order | 'visited',
): (sync: Reader) => Ids {
  let listed: Ids = []
  if (order === 'own' || order === 'best') return (sync) => (listed = sameIfEqual(listed, idsOf(sync)))
  const keyOf = keysOf[order]
  const sign = order === 'newest' || order === 'visited' ? -1 : 1
  const inOrder = (one: Entry, other: Entry) =>
    one.rank - other.rank ||
    sign * compare(one.key, other.key) ||
    compare(one.bookmark.position ?? '', other.bookmark.position ?? '') ||
    compare(one.id, other.id)
  let sorted: readonly Entry[] = []
  let shown: Ids = []
  return (sync) => {
    const now = sameIfEqual(listed, idsOf(sync))
    const isStale = ({ id, bookmark }: Entry) => sync.get(id) !== bookmark
    const missing = new Set(now === listed ? sorted.filter(isStale).map(({ id }) => id) : now)
    if (missing.size === 0 && now === listed) return shown
    const stays = (entry: Entry) =>
      now === listed ? !missing.has(entry.id) : !isStale(entry) && missing.delete(entry.id)
    const kept = sorted.filter(stays)
    const fresh = [...missing].flatMap((id) => {
      const bookmark = sync.get(id)
      return bookmark ? { id, bookmark, rank: isFolder(bookmark) ? 0 : 1, key: keyOf(bookmark) } : []
    })
    sorted = merge(kept, fresh.sort(inOrder), inOrder)
    listed = now
    shown = sameIfEqual(
      shown,
      sorted.map(({ id }) => id),
    )
    return shown
  }
}

/** Returns the old array if both have the same ids, so that callers notice that nothing changed. */
function sameIfEqual(before: Ids, now: Ids): Ids {
  if (before.length !== now.length) return now
  for (let index = 0; index < now.length; index++) if (before[index] !== now[index]) return now
  return before
}

/** Merges two sorted lists. Uses a binary search in `ones`, because most of a long list stays. */
function merge<T>(ones: readonly T[], others: readonly T[], inOrder: (one: T, other: T) => number): T[] {
  const merged: T[] = []
  let next = 0
  for (const other of others) {
    const place = placeOf(ones, other, next, inOrder)
    while (next < place) merged.push(ones[next++] as T)
    merged.push(other)
  }
  return merged.concat(ones.slice(next))
}

/** The index in `ones`, at least `start`, at which `other` belongs. */
function placeOf<T>(ones: readonly T[], other: T, start: number, inOrder: (one: T, other: T) => number): number {
  let [from, end] = [start, ones.length]
  while (from < end) {
    const middle = (from + end) >> 1
    if (inOrder(ones[middle] as T, other) < 0) from = middle + 1
    else end = middle
  }
  return from
}

const keysOf: Record<SortedBy | 'visited', (bookmark: Bookmark) => string> = {
  title: titleKey,
  host: (bookmark) => `${hostOf(bookmark)} ${titleKey(bookmark)}`,
  newest: ({ dateAdded = '' }) => dateAdded,
  oldest: ({ dateAdded = '' }) => dateAdded,
  visited: ({ dateVisited = '' }) => dateVisited,
  // The most stars first.
  count: ({ stargazers_count = 0 }) => `${1e9 - stargazers_count}`.padStart(10),
}

const titleKeys = new WeakMap<Bookmark, string>()

/** The title without accents and case, for sorting. Unlike in a search, ß does not become ss. */
function titleKey(bookmark: Bookmark): string {
  const known = titleKeys.get(bookmark)
  if (known !== undefined) return known
  const name = nameOf(bookmark).normalize('NFKD')
  const key = name.replace(/[\u0300-\u036f]/g, '').toLowerCase()
  titleKeys.set(bookmark, key)
  return key
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

export const sortedBy: readonly SortedBy[] = ['title', 'host', 'newest', 'oldest']

/** @param idsOf returns the ids in the person's own order. Must not change: define it outside, or with `useCallback` */
export function useSorted(idsOf: (sync: SyncReader) => readonly string[], order: Order): readonly string[] {
  return useSelection(useMemo(() => memoizedByTree(sorter(idsOf, order)), [idsOf, order]))
}

/** A selector that computes its value only after a bookmark has changed. Selectors also run when the status changes. */
export function memoizedByTree<T>(select: (sync: SyncReader) => T): (sync: SyncReader) => T {
  let last: { tree: unknown; value: T } | undefined
  return (sync) => {
    const tree = sync.tree()
    if (last?.tree !== tree) last = { tree, value: select(sync) }
    return last.value
  }
}
