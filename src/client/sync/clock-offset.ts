import type { Clock } from './clock.ts'
import type { Draft } from './draft.ts'

/** Readings this far off are put right; less is the network's delay. */
const toleranceMs = 1000

/** Learns the service's clock from the time in one of its answers (Unix ms). Readings rise anew from there. */
export function correctClock(draft: Draft, clock: Clock, serverTime: number): void {
  const clockOffset = serverTime - clock.now()
  if (Math.abs(clockOffset - draft.meta.clockOffset) > toleranceMs) draft.setMeta({ clockOffset, lastTick: 0 })
}
