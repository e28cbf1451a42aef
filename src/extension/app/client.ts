import { type Client, createClient } from '../../client/calls.ts'
import type { Settings } from './settings.ts'

export function openClient({ baseUrl = '', deviceId = '' }: Settings): Client {
  return createClient({ baseUrl, deviceId })
}

/** A client that acts only for this extension's user, even if somebody else has signed in in the browser since. */
export function openOwnClient(settings: Settings): Client {
  return openClient(settings).as(settings.userId ?? '')
}
