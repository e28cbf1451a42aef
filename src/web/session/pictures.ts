import { whenLeaving } from '../ui/leaving.ts'
import { type SharedValue, sharedValue } from '../ui/shared-value.ts'

const key = 'look-star-pictures'

/** The origin from which the pictures of the stars’ owners are loaded; empty unless the person allows it in this browser. */
export const pictureOrigin: SharedValue<string> = sharedValue(allowedOrigin())

export function allowPictures(origin: string): void {
  if (origin) localStorage.setItem(key, origin)
  else localStorage.removeItem(key)
  pictureOrigin.set(origin)
}

function allowedOrigin(): string {
  try {
    return localStorage.getItem(key) ?? ''
  } catch {
    // The browser lets this site store nothing, which the start of the page tells.
    return ''
  }
}

// The next person has not allowed it.
whenLeaving(() => allowPictures(''))
