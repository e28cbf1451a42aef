import { v4 as uuidv4 } from 'uuid'
import { createTabs, indexedDbStore, memoryStore, type Store, type Tabs } from '../../client/index.ts'
import { say } from '../words/words.ts'

/** This device: its id, and where it stores its copy of the bookmarks. */
export interface Device {
  id: string
  /** Shown at the top of the page. */
  name: string
  open(userId: string): { store: Store; tabs?: Tabs }
  /** True if the browser may keep this device's master key. */
  keepsKey: boolean
}

/** True if a second device can be shown, to see how the sync works. Not in production, which uses HTTPS. */
export function hasSecondDevice(): boolean {
  return location.protocol === 'http:'
}

/** The message that the second device posts to the page around it. */
export const deviceClosed = 'device-closed'

/** Closes the second device, whose data was only in memory. The person stays signed in, with the browser's session. */
export function closeDevice(): void {
  if (window === window.top) location.assign('/')
  else window.parent.postMessage(deviceClosed, location.origin)
}

/** This browser or, with `?device=NAME`, a second device alongside it. */
export function thisDevice(): Device {
  const name = hasSecondDevice() ? new URLSearchParams(location.search).get('device') : null
  if (name !== null) {
    return { id: `demo-${uuidv4()}`, name, keepsKey: false, open: () => ({ store: memoryStore() }) }
  }
  const id = localStorage.getItem('device-id') ?? newId()
  localStorage.setItem('device-id', id)
  return {
    id,
    name: say.app.thisBrowser,
    keepsKey: true,
    open: (userId) => ({ store: indexedDbStore(userId), tabs: createTabs(userId) }),
  }
}

/** Names the kind of device, for the list of devices. It outlives a sign-out, so it is a UUIDv4, without a time. */
function newId(): string {
  return `${kindOf(navigator.userAgent) || 'web'}-${uuidv4()}`
}

/** The browser and system named in a `User-Agent`, as people call them; empty if neither is known. */
export function browserOf(userAgent: string): string {
  return browserText(kindOf(userAgent))
}

/** Such as `Samsung-Internet-on-Android`; without what is unknown. Not translated, because it becomes part of ids. */
function kindOf(userAgent: string): string {
  const find = (names: Names) => names.find(([sign]) => userAgent.includes(sign))?.[1]
  return [find(browsers), find(systems)].filter(Boolean).join('-on-').replaceAll(' ', '-')
}

/** The kind of device from its id, in words. */
export function browserText(kind: string): string {
  const [browser = '', system] = kind.split('-on-').map((name) => name.replaceAll('-', ' '))
  return system === undefined ? browser : say.app.browserOn(browser, system)
}

type Names = readonly (readonly [sign: string, name: string])[]

/** The first match counts: most browsers also name some of those below in their `User-Agent`. */
const browsers: Names = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['Vivaldi', 'Vivaldi'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Firefox/', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['Chrom', 'Chrome'],
  ['CriOS', 'Chrome'],
  ['Safari/', 'Safari'],
]
const systems: Names = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['CrOS', 'ChromeOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
]
