import type { Clock } from '../../timing/clock.ts'
import type { Draft } from './draft.ts'
import type { Meta } from './store.ts'

/** A measured offset this close to the known one is due to network delay, not to a wrong clock. */
const toleranceMs = 1000
/** A reading further ahead than this was made while the clock was wrong; edits made at once get readings close together. */
const aheadMs = 60_000
/** A clock that seems to have gone this far since it was compared, or backwards, may have been changed. */
const trustMs = 3_600_000

/** A response of the service that tells its time, and this device's time when it was asked for and when it came (Unix ms). */
export interface TimeAnswer {
  serverTime: number
  sentAt: number
  heardAt: number
}

/** This device's time, corrected by the known offset of the service's clock (Unix ms). */
export function correctedNow(clock: Clock, { clockOffset }: Pick<Meta, 'clockOffset'>): number {
  return clock.now() + clockOffset
}

/** A timestamp for an edit: the corrected time, but higher than every earlier reading of the same clock. */
export function nextTick(clock: Clock, meta: Readonly<Meta>): number {
  const now = correctedNow(clock, meta)
  return isAhead(meta.lastTick, now) ? now : Math.max(now, meta.lastTick + 1)
}

/** Whether the timestamp was read from a clock that was wrong, as seen at the corrected time `now` (both in Unix ms). */
export function isAhead(timestamp: number, now: number): boolean {
  return timestamp > now + aheadMs
}

/** Whether this device's clock was compared with the service's recently, and was not changed much since. */
export function isClockTrusted(clock: Clock, { clockCheckedAt = 0 }: Readonly<Meta>): boolean {
  const since = clock.now() - clockCheckedAt
  return since >= 0 && since < trustMs
}

/**
 * Corrects the offset, unless the answer allows the known one: the service read its clock at some time between the
 * request and the answer, so a late answer shifts nothing. Readings then rise from the new time.
 */
export function correctClock(draft: Draft, { serverTime, sentAt, heardAt }: TimeAnswer): void {
  const { clockOffset: known, clockCheckedAt = 0 } = draft.meta
  const [least, most] = [serverTime - heardAt, serverTime - sentAt]
  if (known < least - toleranceMs || known > most + toleranceMs) {
    // If this device's clock was put back meanwhile, only its present time counts.
    draft.setMeta({ clockOffset: heardAt < sentAt ? least : Math.round((least + most) / 2), lastTick: 0 })
  }
  // Not after each answer: it would have to be stored.
  if (Math.abs(heardAt - clockCheckedAt) > trustMs / 4) draft.setMeta({ clockCheckedAt: heardAt })
}
