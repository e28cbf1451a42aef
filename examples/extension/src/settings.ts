import { type Client, createClient } from 'encrypted-bookmark-sync-client/calls'
import { platform } from './platform.ts'

export interface Settings {
  baseUrl?: string
  deviceId?: string
  userId?: string
  isPaused?: boolean
}

const names = ['baseUrl', 'deviceId', 'userId', 'isPaused']

export async function readSettings(): Promise<Settings> {
  return (await platform.storage.local.get(names)) as Settings
}

export async function changeSettings(settings: Settings): Promise<void> {
  await platform.storage.local.set({ ...settings })
}

export function openClient({ baseUrl = '', deviceId = '' }: Settings): Client {
  return createClient({ baseUrl, deviceId })
}

/** The permission that lets the extension talk to the service, and with it alone. */
export function originsOf(baseUrl: string): string[] {
  return [`${new URL(baseUrl).protocol}//${new URL(baseUrl).hostname}/*`]
}
