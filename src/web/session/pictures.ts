import { whenLeaving } from '../ui/leaving.ts'
import { type SharedValue, sharedValue } from '../ui/shared-value.ts'

const key = 'look-star-pictures'

/** The origin of the pictures of repository owners; empty unless the person has allowed it in this browser. */
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
    // The browser does not let this site store anything. The start of the page reports that.
    return ''
  }
}

// The permission does not apply to the next person.
whenLeaving(() => allowPictures(''))
