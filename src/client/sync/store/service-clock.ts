import type { Clock } from '../../timing/clock.ts'
import type { Draft } from './draft.ts'
import type { Meta } from './store.ts'

/** A measured offset this close to the known one is the network's delay, not the clock's error. */
const toleranceMs = 1000

/** This device's clock, corrected by what is known of the service's (Unix ms). */
export function correctedNow(clock: Clock, { clockOffset }: Pick<Meta, 'clockOffset'>): number {
  return clock.now() + clockOffset
}

/** A reading for an edit: the corrected clock's, but above every reading before it. */
export function nextTick(clock: Clock, meta: Readonly<Meta>): number {
  return Math.max(correctedNow(clock, meta), meta.lastTick + 1)
}

/** Learns the service's clock from the time in one of its answers (Unix ms). Readings rise anew from there. */
export function correctClock(draft: Draft, clock: Clock, serverTime: number): void {
  const clockOffset = serverTime - clock.now()
  if (Math.abs(clockOffset - draft.meta.clockOffset) > toleranceMs) draft.setMeta({ clockOffset, lastTick: 0 })
}
