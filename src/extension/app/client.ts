import { type Client, createClient } from '../../client/calls.ts'
import type { Settings } from './settings.ts'

/** Smaller differences (ms) of the clocks are ignored: `Date` headers arrive late, and have only whole seconds. */
const toleranceMs = 60_000
/** How far this device's clock is ahead of the service's (ms), by the last response; 0 if it is about right. */
let aheadMs = 0

/** The service's time (Unix ms), as far as its responses have shown it. */
export function serviceNow(): number {
  return Date.now() - aheadMs
}

export function openClient({ baseUrl = '', deviceId = '' }: Settings): Client {
  return createClient({
    ...{ baseUrl, deviceId },
    fetch: async (request) => {
      const response = await fetch(request)
      const ahead = Date.now() - Date.parse(response.headers.get('date') ?? '')
      if (!Number.isNaN(ahead)) aheadMs = Math.abs(ahead) < toleranceMs ? 0 : ahead
      return response
    },
  })
}

/** A client that acts only for this extension's user, even if somebody else has signed in in the browser since. */
export function openOwnClient(settings: Settings): Client {
  return openClient(settings).as(settings.userId ?? '')
}
