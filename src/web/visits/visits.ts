/** The browsing history by day, and the person's actions on it. */
import { removedPage, sinceErasure, wholeHistory } from '../../client/bookmark/removed-page.ts'
import { historyId, type ImportReport, type Keys, type Sync } from '../../client/index.ts'
import { type Bookmark, quoted } from '../library/kind.ts'
import { reversible } from '../library/reversible.ts'
import { serviceNow } from '../ui/service-time.ts'
import { tell } from '../ui/tell.ts'
import { later } from '../words/later.ts'

/** A day in the person's time zone, with the pages whose last visit was on it, the latest first. */
export interface Day {
  /** The start of the day (Unix ms); 0 if it is not known. */
  start: number
  ids: readonly string[]
}

export function visitedAt({ dateVisited, dateAdded }: Bookmark): number {
  const time = Date.parse(dateVisited ?? dateAdded ?? '')
  return Number.isNaN(time) ? 0 : time
}

export function startOfDay(time: number): number {
  return time === 0 ? 0 : new Date(time).setHours(0, 0, 0, 0)
}

/** @param ids sorted, the last visited first */
export function daysOf(history: Pick<Sync, 'get'>, ids: readonly string[]): Day[] {
  const days: { start: number; ids: string[] }[] = []
  for (const id of ids) {
    const entry = history.get(id)
    if (!entry) continue
    const time = visitedAt(entry)
    const last = days.at(-1)
    // Saves computing the start of the day for most entries: those of the same day as the entry before.
    if (last && time >= last.start && (last.start > 0 || time === 0)) last.ids.push(id)
    else days.push({ start: startOfDay(time), ids: [id] })
  }
  return days
}

/** @param history a sync of the browsing history, as `recordsOf` returns it */
export async function removeEntry(history: Sync, entry: Bookmark): Promise<void> {
  await removePages(history, [entry])
  const isVisitedAgain = () => history.get(entry.id)?.url !== undefined
  tell(
    later.visits.removed(quoted(entry)),
    reversible(history, (edits) => isVisitedAgain() || edits.put(entry)),
  )
}

/**
 * Removes the pages last visited on this day, and this day's visits from pages that were visited again later. Reads the
 * day again, because more visits may have arrived since it was shown.
 */
export async function removeDay(history: Sync, start: number): Promise<void> {
  const isOfDay = (time: number) => startOfDay(time) === start
  const isVisit = (visit: string) => isOfDay(Date.parse(visit))
  const entries = [...history.bookmarks().values()]
  const gone = entries.filter((entry) => isOfDay(visitedAt(entry)))
  const kept = entries.filter((entry) => !isOfDay(visitedAt(entry)) && entry.visits?.some(isVisit))
  if (kept.length > 0) {
    const ids = kept.map(({ id }) => id)
    await history.update(ids, ({ visits = [], visitCount = visits.length, dateAdded }) => {
      const others = visits.filter((visit) => !isVisit(visit))
      const first = dateAdded && isVisit(dateAdded) ? others.at(-1) : dateAdded
      return { visits: others, visitCount: visitCount - visits.length + others.length, dateAdded: first }
    })
  }
  await removePages(history, gone)
  tell(later.visits.dayRemoved(gone.length))
}

function removePages(history: Sync, entries: readonly Bookmark[]): Promise<void> {
  return history.put(entries.map(({ id }) => removedPage(id, serviceNow())))
}

/** Deletes all entries, also those that other devices still store of earlier visits. The browsers' own histories stay. */
export async function eraseAll({ history }: Sync, keys: Keys): Promise<void> {
  const whole = historyId(keys, wholeHistory)
  await history.put(removedPage(whole, serviceNow()))
  // Includes removed pages, which are not shown.
  await history.remove([...history.records().keys()].filter((id) => id !== whole))
  tell(later.visits.erased)
}

/** Deletes visits from before the history was erased, which devices have stored that had not learned of it. */
export async function dropErased({ history }: Sync, keys: Keys): Promise<void> {
  const erasedAt = history.get(historyId(keys, wholeHistory))?.dateModified
  if (!erasedAt) return
  const since = (entry: Readonly<Bookmark>) => sinceErasure(entry, erasedAt)
  const old = [...history.records().values()].filter((entry) => since(entry) !== entry)
  const [gone = [], cut = []] = [true, false].map((isGone) => old.filter((entry) => (since(entry) === null) === isGone))
  await history.remove(gone.map(({ id }) => id))
  await history.update(
    cut.map(({ id }) => id),
    since,
  )
}

/** Adds a backup's entries. If it has visits from before an erase, they take the erase back, and are not deleted again. */
export async function restoreVisits({ history }: Sync, keys: Keys, entries: Bookmark[]): Promise<ImportReport> {
  const { dateModified: erasedAt, ...whole } = history.get(historyId(keys, wholeHistory)) ?? {}
  if (erasedAt && entries.some((entry) => sinceErasure(entry, erasedAt) !== entry)) await history.put(whole as Bookmark)
  return history.restoreExport({ history: entries })
}
