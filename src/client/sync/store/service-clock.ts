import type { Clock } from '../../timing/clock.ts'
import type { Meta } from './store.ts'

/** A timestamp ahead by more than this (ms) counts as from a wrong clock. Edits made at once run ahead, too, by 1 ms each. */
const aheadMs = 60_000

/** This device's time, corrected by the known offset of the service's clock (Unix ms). */
export function correctedNow(clock: Clock, { clockOffset }: Pick<Meta, 'clockOffset'>): number {
  return clock.now() + clockOffset
}

/** A timestamp for an edit: the corrected time, but higher than the last reading, unless that was from a wrong clock. */
export function nextTick(clock: Clock, meta: Readonly<Meta>): number {
  const now = correctedNow(clock, meta)
  return isAhead(meta.lastTick, now) ? now : Math.max(now, meta.lastTick + 1)
}

/** True if the timestamp counts as from a wrong clock, as seen at the corrected time `now` (both in Unix ms). */
export function isAhead(timestamp: number, now: number): boolean {
  return timestamp > now + aheadMs
}
