import { ApiError } from '../../errors.ts'

/** The last that a Date can hold (Unix ms), far from where numbers cannot be counted on. */
const latest = 8.64e15

export function isTime(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= latest
}

/** One that was stored would be sent back, and refused, for ever. @throws ApiError */
export function demandTimes(...times: number[]): void {
  if (!times.every(isTime)) throw new ApiError(200, 'The service sent an impossible time')
}
