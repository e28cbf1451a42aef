import { sharedValue } from './shared-value.ts'

const minute = 60_000
/** Smaller clock errors (ms) are ignored. Larger ones would make displayed times wrong. */
const tolerated = 2 * minute

/** How far this device's clock is ahead of the service's (ms), to the minute; 0 if it is about right. */
const error = sharedValue(0)

export const useClockError = error.use

/** Compares the clock with the `Date` header of a response from the service. */
export function updateClockError(date: string | null): void {
  const ahead = Date.now() - Date.parse(date ?? '')
  if (Number.isNaN(ahead)) return
  error.set(Math.abs(ahead) < tolerated ? 0 : Math.round(ahead / minute) * minute)
}

/** The service's time (Unix ms), by which bookmarks are dated. */
export function serviceNow(): number {
  return Date.now() - error.get()
}
