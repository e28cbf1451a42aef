/**
 * The browser keeps a tab's history over a sign-out, and its addresses name searches and tags. Each entry therefore has a
 * random mark of the person who made it, and the next person sees the start view instead.
 */
import { v4 as uuidv4 } from 'uuid'

/** Stores in this tab who makes the entries, and their mark. */
const stored = 'entries-of'

/** True once this load of the page knows who is signed in. Until then, a new entry may be anybody's. */
let isTaken = false

/** Leaves the view of somebody else at each step through the history. */
export function watchEntries(): void {
  leaveIfOthers()
  for (const event of ['popstate', 'hashchange']) addEventListener(event, leaveIfOthers)
}

/** Marks new entries as the user's from now on. Returns true if the current one was somebody else's: it has been left. */
export function takeEntries(userId: string): boolean {
  if (owner()?.userId !== userId) sessionStorage.setItem(stored, JSON.stringify({ userId, mark: uuidv4() }))
  isTaken = true
  return leaveIfOthers()
}

/** Hides the user's entries, and whose they were. */
export function forgetEntriesOf(userId: string): void {
  if (owner()?.userId === userId) forgetEntries()
}

/** Hides all entries up to now, also from the same person. */
export function forgetEntries(): void {
  isTaken = false
  sessionStorage.removeItem(stored)
}

/** The state of a new entry. */
export function newEntry(): string | null {
  return isTaken ? `${owner()?.mark} ${uuidv4()}` : null
}

/** The browser keeps it with the entry, also over a reload. */
export function entryId(): string {
  if (markOf(history.state) === undefined) history.replaceState(newEntry(), '')
  return String(history.state)
}

/** Shows the start view instead of the current one. */
export function leaveView(): void {
  history.replaceState(null, '', location.pathname + location.search)
}

/** An entry made while nobody was signed in would stay in the tab's history for everybody. */
export function leaveUnmarkedView(): void {
  if (markOf(history.state) === undefined) leaveView()
}

function leaveIfOthers(): boolean {
  const mark = markOf(history.state)
  const isOthers = mark !== undefined && mark !== owner()?.mark
  if (isOthers) leaveView()
  if (isTaken) entryId()
  return isOthers
}

function markOf(state: unknown): string | undefined {
  return typeof state === 'string' && state.includes(' ') ? state.split(' ')[0] : undefined
}

function owner(): { userId: string; mark: string } | undefined {
  return JSON.parse(sessionStorage.getItem(stored) ?? 'null') ?? undefined
}
