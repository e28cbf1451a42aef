import { platform } from './platform.ts'

export interface Settings {
  baseUrl?: string
  deviceId?: string
  userId?: string
  isPaused?: boolean
  /** True if the browsing history is turned on. */
  visits?: boolean
  fillsTitles?: boolean
  /** When the last person signed out here (Unix ms): earlier visits of this browser are not the next person's. */
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

/** Removes everything but the time of the sign-out. */
export async function forgetSettings(): Promise<void> {
  await platform.storage.local.remove(personal)
}

/** Removes the permission for the server. It stays if the extension was built for one server, in its manifest. */
export async function returnPermission(baseUrl: string): Promise<void> {
  await platform.permissions.remove({ origins: originsOf(baseUrl) }).catch(() => {})
}

/** The permissions of tab groups. */
export function groupsPermissions(): { permissions: string[] } {
  return { permissions: 'group' in platform.tabs ? ['tabs', 'tabGroups'] : ['tabs'] }
}

/** Firefox also asks which data may be sent: the same for the browsing history and for tab groups. */
export function sentData(): { data_collection?: string[] } {
  return platform.runtime.getBrowserInfo ? { data_collection: ['browsingActivity'] } : {}
}

/** Returns these permissions, and that for the data, unless `other` also needs it. */
export async function returnSentData(permissions: string[], other: string): Promise<void> {
  const isNeeded = await platform.permissions.contains({ permissions: [other] })
  await platform.permissions.remove({ permissions, ...(!isNeeded && sentData()) })
}

/** The permission for all sites, which asking for missing titles needs. */
export const allSites = ['https://*/*']

/** The permission for the service's address alone. */
export function originsOf(baseUrl: string): string[] {
  return [`${new URL(baseUrl).protocol}//${new URL(baseUrl).hostname}/*`]
}
