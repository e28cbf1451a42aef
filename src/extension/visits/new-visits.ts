import { mostVisits } from '../../client/bookmark/merge.ts'
import { removalOf } from '../../client/bookmark/removed-page.ts'
import type { PlaintextBookmark } from '../../client/bookmark.ts'
import type { Sync } from '../../client/sync/sync.ts'
import { isOfSite, storedAddress } from './address.ts'
import type { BrowserPages } from './browser-pages.ts'
import type { HistoryApi } from './history-api.ts'
import type { Span, VisitedPage, VisitState } from './visit-store.ts'

/** The browser's history, and what is stored of it. */
export interface NewVisitsParts {
  sync: Pick<Sync, 'history'>
  history: HistoryApi
  idOf: (url: string) => string
  pages: BrowserPages
  state: VisitState
}

/** The most entries of an account. Beyond them, the oldest are deleted, and earlier periods are not read. */
export const mostEntries = 100_000
/** If a push has room for fewer entries, visits of earlier periods wait for the next one. */
const fewest = 50
const mostTitleLetters = 500
const dayMs = 86_400_000
/** Transitions of visits that a person did not make, such as of reloads and frames. */
const ignoredTransitions = new Set(['reload', 'auto_subframe', 'manual_subframe', 'keyword_generated'])

/** Finds up to `room` entries with visits that are not stored, the latest first, and the periods that are left to read. */
export async function findNewVisits(
  parts: NewVisitsParts,
  now: number,
  room: number,
): Promise<{ found: PlaintextBookmark[]; spans: Span[] }> {
  const { state, sync } = parts
  const isFull = sync.history.records().size >= mostEntries
  const found = new Map<string, PlaintextBookmark>()
  const left: Span[] = []
  const spans = [...state.spans]
  for (let span = spans.pop(); span; span = spans.pop()) {
    const to = span.to ?? now
    const from = Math.max(span.from, now - state.keptDays * dayMs)
    const isOpen = span.to === undefined
    const mayLook = isOpen || (room - found.size >= fewest && !isFull)
    const start = mayLook && from < to ? await readSpan(parts, { from, to }, room - found.size, found) : to
    // Keeps the open period even if the clock was set back.
    if (isOpen) left.unshift({ from: to })
    const isRead = mayLook ? start <= from : isFull
    if (!isRead) left.unshift({ from, to: start })
  }
  return { found: [...found.values()], spans: left }
}

/** Reads the latest part of a period, as much as there is room for. Returns the start of that part. */
async function readSpan(
  { sync, history, idOf, pages, state }: NewVisitsParts,
  { from, to }: { from: number; to: number },
  room: number,
  found: Map<string, PlaintextBookmark>,
): Promise<number> {
  const isPaused = (time: number) =>
    state.pauses.some(({ from, to = Number.POSITIVE_INFINITY }) => time >= from && time < to)
  let start = from
  let visited = await history.search({ text: '', startTime: start, endTime: to, maxResults: room + 1 })
  while (visited.length > room && to - start > 1) {
    start = Math.ceil((start + to) / 2)
    visited = await history.search({ text: '', startTime: start, endTime: to, maxResults: room + 1 })
  }
  for (const { url, title } of visited) {
    const address = storedAddress(url)
    if (!url || !address || isOfSite(address, state.sites)) continue
    const times = (await history.getVisits({ url }))
      .filter(({ transition, isLocal }) => !ignoredTransitions.has(transition) && isLocal !== false)
      .map(({ visitTime = 0 }) => Math.floor(visitTime))
      .filter((time) => time >= start && time < to && !isPaused(time))
    const id = idOf(address)
    const before = found.get(id) ?? sync.history.get(id)
    const entry = withVisits(before, { id, url: address, title, times }, state, state.removed[id])
    if (times.length > 0) pages.remember(id, address, times, url !== address)
    if (entry) found.set(id, entry)
  }
  return start
}

type Visited = Pick<VisitedPage, 'id' | 'url'> & { title: string | undefined; times: readonly number[] }

/** The entry with the visits added; undefined if it has them all. `removed`: when the page was removed here (Unix ms). */
function withVisits(
  entry: PlaintextBookmark | undefined,
  { id, url, title, times }: Visited,
  { erasedAt = 0 }: VisitState,
  removed = 0,
): PlaintextBookmark | undefined {
  const removal = removalOf(entry) ?? 0
  // The time of the last erase is not that of a removal: see `sinceErasure`.
  const removalAt = removal > erasedAt ? removal : 0
  const removedAt = Math.max(removed, removalAt)
  const isLater = (visit: string) => Date.parse(visit) > removedAt
  const current: Partial<PlaintextBookmark> = entry?.url && removalAt === removedAt ? entry : {}
  const known = new Set(entry?.url === undefined ? [] : entry.visits?.filter(isLater))
  const fresh = times.map((time) => new Date(time).toISOString()).filter(isLater)
  const added = new Set(fresh.filter((visit) => !known.has(visit)))
  if (added.size === 0) return undefined
  const visits = [...known, ...added].sort().reverse()
  const [dateVisited = '', dateAdded = ''] = [visits[0], visits.at(-1)]
  return {
    ...current,
    id,
    url,
    title: (title || current.title || '').slice(0, mostTitleLetters),
    source: 'history',
    dateAdded: current.dateAdded && current.dateAdded < dateAdded ? current.dateAdded : dateAdded,
    dateVisited,
    visits: visits.slice(0, mostVisits),
    visitCount: (current.visitCount ?? known.size) + added.size,
    ...(removedAt > 0 && { dateModified: new Date(removedAt).toISOString() }),
  }
}
