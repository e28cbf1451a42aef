import { ApiError } from '../../errors.ts'
import type { Clock } from '../../timing/clock.ts'
import type { Draft } from '../store/replica.ts'
import type { Meta } from '../store/store.ts'

/** The known offset may be this far (ms) outside of the range that an answer allows, before it is corrected. */
const toleranceMs = 1000
/** A clock that has advanced this much (ms) since the last comparison, or gone backwards, may have been changed. */
const trustMs = 3_600_000
/** No response takes this long (ms): the clock was set, or the device slept. */
const mostAnswerMs = 600_000

/** The service's time in a response, and this device's time at the request and at the response (Unix ms). */
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
 * Corrects the clock's offset if the answer contradicts it. The service read its clock at some time between the request
 * and the answer, so a slow answer allows a range of offsets. After a correction, timestamps of edits start at the new
 * time, even if it is earlier. Returns false if the answer took too long to be of use.
 */
export function correctClock(draft: Draft, { serverTime, sentAt, heardAt }: TimeAnswer): boolean {
  if (heardAt - sentAt > mostAnswerMs) return false
  if (!isTime(serverTime)) return true
  const { clockOffset: known, clockCheckedAt = 0 } = draft.meta
  const [least, most] = [serverTime - heardAt, serverTime - sentAt]
  if (known < least - toleranceMs || known > most + toleranceMs) {
    // If this device's clock was set back meanwhile, only its present time counts.
    draft.setMeta({ clockOffset: heardAt < sentAt ? least : Math.round((least + most) / 2), lastTick: 0 })
  }
  // Updated only now and then, because it is written to the store.
  if (Math.abs(heardAt - clockCheckedAt) > trustMs / 4) draft.setMeta({ clockCheckedAt: heardAt })
  return true
}

/** The latest time of a Date (Unix ms), below the largest safe integer. */
const latest = 8.64e15

export function isTime(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= latest
}

/**
 * Rejects impossible times of a response: once stored, they would be sent back to the service, and refused for ever.
 *
 * @throws ApiError
 */
export function requireTimes(...times: number[]): void {
  if (!times.every(isTime)) throw new ApiError(200, 'The service sent an impossible time')
}
