import { type Client, createClient } from '../../client/calls.ts'
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

/** It stays if whoever built the extension for one server has put it into the manifest. */
export async function returnPermission(baseUrl: string): Promise<void> {
  await platform.permissions.remove({ origins: originsOf(baseUrl) }).catch(() => {})
}

/** The permission that lets the extension talk to the service, and with it alone. */
export function originsOf(baseUrl: string): string[] {
  return [`${new URL(baseUrl).protocol}//${new URL(baseUrl).hostname}/*`]
}
