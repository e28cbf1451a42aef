import type { PlaintextBookmark } from '../bookmark.ts'

/** The history entry of a removed page: other devices then remove the page from their browsers' histories. */
export function removedPage(id: string, time: number): PlaintextBookmark {
  return { id, title: '', source: 'history', dateModified: new Date(time).toISOString() }
}

export function isRemovedPage({ url }: Readonly<PlaintextBookmark>): boolean {
  return url === undefined
}

/** When the entry's page was last removed; undefined if it never was. */
export function removalOf(entry: Readonly<PlaintextBookmark> | undefined): number | undefined {
  return Date.parse(entry?.dateModified ?? '') || undefined
}

/**
 * The entry with this address (`historyId`) stands for the whole history, as others do for a removed page: its `dateModified`
 * is when everything was last erased. Other devices then neither store nor keep an earlier visit.
 */
export const wholeHistory = ''

const none: ReadonlySet<number> = new Set()

/**
 * The entry without visits from before the history was erased (ISO 8601); null if none is later, and the entry itself if all are,
 * or if its `dateModified` says so: the device that stored them knew of the erase, and its clock is slow.
 *
 * @param own times (Unix ms) of visits that are also to be left out
 */
export function sinceErasure(
  entry: Readonly<PlaintextBookmark>,
  erasedAt: string,
  own = none,
): Readonly<PlaintextBookmark> | null {
  const { url, dateModified = '', dateAdded, dateVisited = dateAdded, visits = [] } = entry
  if (url === undefined || dateVisited === undefined) return entry
  const isErased = (visit: string) => (visit <= erasedAt && dateModified < erasedAt) || own.has(Date.parse(visit))
  const later = visits.filter((visit) => !isErased(visit))
  if (later.length === visits.length && !isErased(dateAdded ?? dateVisited)) return entry
  const [last = dateVisited, first = last] = [later[0], later.at(-1)]
  if (isErased(last)) return null
  return { ...entry, dateAdded: first, dateVisited: last, visits: later, visitCount: later.length || 1 }
}
