import { type Client, createClient } from '../../client/calls.ts'
import type { Settings } from './settings.ts'

export function openClient({ baseUrl = '', deviceId = '' }: Settings): Client {
  return createClient({ baseUrl, deviceId })
}

/** Its calls act for the user of this extension alone, also if somebody else has signed in in the browser meanwhile. */
export function openOwnClient(settings: Settings): Client {
  return openClient(settings).as(settings.userId ?? '')
}
