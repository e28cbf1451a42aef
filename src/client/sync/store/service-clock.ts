import type { Clock } from '../../timing/clock.ts'
import type { Draft } from './draft.ts'
import type { Meta } from './store.ts'

/** A measured offset this close to the known one is due to network delay, not to a wrong clock. */
const toleranceMs = 1000

/** This device's time, corrected by the known offset of the service's clock (Unix ms). */
export function correctedNow(clock: Clock, { clockOffset }: Pick<Meta, 'clockOffset'>): number {
  return clock.now() + clockOffset
}

/** A timestamp for an edit: the corrected time, but higher than every earlier reading. */
export function nextTick(clock: Clock, meta: Readonly<Meta>): number {
  return Math.max(correctedNow(clock, meta), meta.lastTick + 1)
}

/** Corrects the offset by the time in a response of the service (Unix ms). Readings then rise from the new time. */
export function correctClock(draft: Draft, clock: Clock, serverTime: number): void {
  const clockOffset = serverTime - clock.now()
  if (Math.abs(clockOffset - draft.meta.clockOffset) > toleranceMs) draft.setMeta({ clockOffset, lastTick: 0 })
}
