import { type Client, createClient } from '../../client/calls.ts'
import { platform } from './platform.ts'
import { text } from './text.ts'

export interface Settings {
  baseUrl?: string
  deviceId?: string
  userId?: string
  isPaused?: boolean
  /** True if the browsing history is on. */
  visits?: boolean
  fillsTitles?: boolean
}

const names = ['baseUrl', 'deviceId', 'userId', 'isPaused', 'visits', 'fillsTitles']

/** Opens the page on which the server's address is changed. */
export async function changeAddress(): Promise<void> {
  await platform.tabs.create({ url: platform.runtime.getURL('start.html#server') })
}

export async function readSettings(): Promise<Settings> {
  return (await platform.storage.local.get(names)) as Settings
}

export async function changeSettings(settings: Settings): Promise<void> {
  await platform.storage.local.set({ ...settings })
}

export function openClient({ baseUrl = '', deviceId = '' }: Settings): Client {
  return createClient({ baseUrl, deviceId })
}

/** Its calls act for the user of this extension alone, also if somebody else has signed in in the browser meanwhile. */
export function openOwnClient(settings: Settings): Client {
  return openClient(settings).as(settings.userId ?? '')
}

/** It stays if the extension was built for one server, which the manifest then names. */
export async function returnPermission(baseUrl: string): Promise<void> {
  await platform.permissions.remove({ origins: originsOf(baseUrl) }).catch(() => {})
}

/** The permission to ask any site for the title of a page. */
export const everySite = ['https://*/*']

/** The permission that lets the extension talk to the service, and with it alone. */
export function originsOf(baseUrl: string): string[] {
  return [`${new URL(baseUrl).protocol}//${new URL(baseUrl).hostname}/*`]
}

const unique = /-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** A device's id is its name, in the letters that a URL takes, and what makes it unique; the service's page shows it so. */
export function deviceIdOf(name: string, before = ''): string {
  const letters = name.normalize('NFKD').replace(/[\p{M}'’]/gu, '')
  const words = letters.match(/[\w.~]+/g) ?? ['browser']
  return `${words.join('-').slice(0, 60)}-${unique.exec(before)?.[1] ?? crypto.randomUUID()}`
}

export function nameOf(deviceId: string): string {
  return deviceId.replace(unique, '').replaceAll('-', ' ')
}

/** The name that most would give it. */
export function guessName(userAgent = navigator.userAgent): string {
  const first = (names: Record<string, string>) =>
    Object.entries(names).find(([part]) => userAgent.includes(part))?.[1] ?? ''
  const browser = first({ Firefox: 'Firefox', 'Edg/': 'Edge', Chrome: 'Chrome' })
  const system = first({ Android: 'Android', Windows: 'Windows', Mac: 'Mac', Linux: 'Linux' })
  return browser && system ? text('deviceOn', browser, system) : browser || system
}
