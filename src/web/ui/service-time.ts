import { sharedValue } from './shared-value.ts'

const minute = 60_000
/** Every clock is off by a little. Further than this, the times that the page shows would be wrong. */
const tolerated = 2 * minute

/** How far this device's clock is ahead of the service's (ms), to the minute; 0 while it is about right. */
const error = sharedValue(0)

export const useClockError = error.use

/** Takes the time from a response of the service. */
export function hearTime(date: string | null): void {
  const ahead = Date.now() - Date.parse(date ?? '')
  if (Number.isNaN(ahead)) return
  error.set(Math.abs(ahead) < tolerated ? 0 : Math.round(ahead / minute) * minute)
}

/** The time as the service has it (Unix ms), which the times of bookmarks are in as well. */
export function serviceNow(): number {
  return Date.now() - error.get()
}
