/**
 * A tab's "back" and "forward" entries outlive a sign-out, and their addresses may contain searches and tags. So each
 * entry has a random mark of its user, and the next user sees the start view instead.
 */
import { v4 as uuidv4 } from 'uuid'

/** Storage key, in this tab, of the current user and their mark. */
const stored = 'entries-of'

/** Storage key of the scroll positions of this tab's entries. */
export const scrollPositions = 'scrolled'

/** True when this load of the page knows who is signed in. Until then, new entries get no mark. */
let isTaken = false

/** Shows the start view whenever "back" or "forward" leads to an entry of another user. */
export function watchEntries(): void {
  // A page that signs out stores the positions once more when it is left.
  if (!owner()) sessionStorage.removeItem(scrollPositions)
  leaveIfOthers()
  for (const event of ['popstate', 'hashchange']) addEventListener(event, leaveIfOthers)
}

/** Marks new entries as this user's. Returns true if the current entry was another user's, and has been left. */
export function takeEntries(userId: string): boolean {
  if (owner()?.userId !== userId) sessionStorage.setItem(stored, JSON.stringify({ userId, mark: uuidv4() }))
  isTaken = true
  return leaveIfOthers()
}

/** Makes the user's entries unreachable, and forgets whose they were. */
export function forgetEntriesOf(userId: string): void {
  if (owner()?.userId === userId) forgetEntries()
}

/** Makes all marked entries unreachable, also for the same user. */
export function forgetEntries(): void {
  isTaken = false
  sessionStorage.removeItem(stored)
}

/** The `history.state` of a new entry. */
export function newEntry(): string | null {
  return isTaken ? `${owner()?.mark} ${uuidv4()}` : null
}

/** The entry's id, which the browser keeps with it, also over a reload. */
export function entryId(): string {
  if (markOf(history.state) === undefined) history.replaceState(newEntry(), '')
  return String(history.state)
}

/** Gives the current entry the start view's address. Its callers draw the view. */
export function leaveView(): void {
  history.replaceState(null, '', location.pathname + location.search)
}

/** Leaves an entry that was made while nobody was signed in: the next user could go back to it. */
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
