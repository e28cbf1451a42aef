import { platform } from './platform.ts'

export interface Settings {
  baseUrl?: string
  deviceId?: string
  userId?: string
  isPaused?: boolean
  /** True if the browsing history is turned on. */
  visits?: boolean
  fillsTitles?: boolean
  /** When the last person signed out here (Unix ms). Earlier visits in the browser's history are not the next person's. */
  signedOutAt?: number
}

const personal = ['baseUrl', 'deviceId', 'userId', 'isPaused', 'visits', 'fillsTitles']

/** Opens the page on which the server's address is changed. */
export async function changeAddress(): Promise<void> {
  await platform.tabs.create({ url: platform.runtime.getURL('start.html#server') })
}

export async function readSettings(): Promise<Settings> {
  return (await platform.storage.local.get([...personal, 'signedOutAt'])) as Settings
}

export async function changeSettings(settings: Settings): Promise<void> {
  await platform.storage.local.set({ ...settings })
}

/** Removes all settings except for the time of the sign-out. */
export async function forgetSettings(): Promise<void> {
  await platform.storage.local.remove(personal)
}

/** Removes the permission for the server. The browser refuses that if the manifest of a build for one server requires it. */
export async function removeServerPermission(baseUrl: string): Promise<void> {
  await platform.permissions.remove({ origins: originsOf(baseUrl) }).catch(() => {})
}

export function groupsPermissions(): { permissions: string[] } {
  return { permissions: 'group' in platform.tabs ? ['tabs', 'tabGroups'] : ['tabs'] }
}

/** Firefox also asks whether data of this kind may be sent, which the browsing history and tab groups need. */
export function sentData(): { data_collection?: string[] } {
  return platform.runtime.getBrowserInfo ? { data_collection: ['browsingActivity'] } : {}
}

/** Removes these permissions, and the one of `sentData` unless `other`, the permission of the other feature, is given. */
export async function removePermissions(permissions: string[], other: string): Promise<void> {
  const isNeeded = await platform.permissions.contains({ permissions: [other] })
  await platform.permissions.remove({ permissions, ...(!isNeeded && sentData()) })
}

/** The permission for all sites with HTTPS, which is needed to fetch missing titles. */
export const allSites = ['https://*/*']

/** The permission for the service's host, on any port. */
export function originsOf(baseUrl: string): string[] {
  return [`${new URL(baseUrl).protocol}//${new URL(baseUrl).hostname}/*`]
}
