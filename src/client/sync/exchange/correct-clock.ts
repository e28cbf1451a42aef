import { ApiError } from '../../errors.ts'
import type { Clock } from '../../timing/clock.ts'
import type { Draft } from '../store/replica.ts'
import type { Meta } from '../store/store.ts'

/** A measured offset this close to the known one is due to network delay, not to a wrong clock. */
const toleranceMs = 1000
/** A clock that seems to have gone this far since it was compared, or backwards, may have been changed. */
const trustMs = 3_600_000
/** No answer takes this long: the clock was put forward meanwhile, or the device slept. */
const unbelievableMs = 600_000

/** A response of the service that tells its time, and this device's time when it was asked for and when it came (Unix ms). */
export interface TimeAnswer {
  serverTime: number
  sentAt: number
  heardAt: number
}

/** True if this device's clock was compared with the service's recently, and was not changed much since. */
export function isClockTrusted(clock: Clock, { clockCheckedAt = 0 }: Readonly<Meta>): boolean {
  const since = clock.now() - clockCheckedAt
  return since >= 0 && since < trustMs
}

/**
 * Corrects the offset, unless the answer allows the known one: the service read its clock at some time between the
 * request and the answer, so a late answer shifts nothing. Readings then rise from the new time. Returns false if the answer
 * is too late to tell anything.
 */
export function correctClock(draft: Draft, { serverTime, sentAt, heardAt }: TimeAnswer): boolean {
  if (heardAt - sentAt > unbelievableMs) return false
  if (!isTime(serverTime)) return true
  const { clockOffset: known, clockCheckedAt = 0 } = draft.meta
  const [least, most] = [serverTime - heardAt, serverTime - sentAt]
  if (known < least - toleranceMs || known > most + toleranceMs) {
    // If this device's clock was put back meanwhile, only its present time counts.
    draft.setMeta({ clockOffset: heardAt < sentAt ? least : Math.round((least + most) / 2), lastTick: 0 })
  }
  // Not after each answer: it would have to be stored.
  if (Math.abs(heardAt - clockCheckedAt) > trustMs / 4) draft.setMeta({ clockCheckedAt: heardAt })
  return true
}

/** The last that a Date can hold (Unix ms), far from where numbers cannot be counted on. */
const latest = 8.64e15

export function isTime(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= latest
}

/** One that was stored would be sent back, and refused, for ever. @throws ApiError */
export function requireTimes(...times: number[]): void {
  if (!times.every(isTime)) throw new ApiError(200, 'The service sent an impossible time')
}
