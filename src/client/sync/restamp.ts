import { v7 as uuidv7 } from 'uuid'
import type { Row } from './store.ts'

/** The service takes no change that is further ahead of its clock. */
const farAheadMs = 86_400_000

/**
 * The row with its waiting edit at the service's time, if it was refused for being too far ahead of it; undefined if it
 * was not. Nothing of it is there, so it counts as a new event.
 */
export function restamp(row: Row, serverTime: number): Row | undefined {
  const latest = serverTime + farAheadMs
  const [first] = row.waiting
  const last = row.waiting.at(-1)
  if (!first || !last || first.change.timestamp <= latest) return undefined
  const known = [row.version, row.held, row.unreadable].map((version) => version?.timestamp ?? 0)
  const timestamp = Math.max(serverTime, ...known.map((time) => time + 1))
  // What it was made on is itself too far ahead: nothing above that would be taken.
  if (timestamp > latest) return undefined
  return { ...row, waiting: [{ ...last, change: { ...last.change, id: uuidv7(), timestamp }, sent: false }] }
}
