import { text } from './text.ts'

const unique = /-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** Makes a device's id: its name, in characters that a URL may contain, and a UUID, which stays the one of `before`. */
export function deviceIdOf(name: string, before = ''): string {
  const letters = name.normalize('NFKD').replace(/[\p{M}'’]/gu, '')
  const words = letters.match(/[\w.~]+/g) ?? ['browser']
  return `${words.join('-').slice(0, 60)}-${unique.exec(before)?.[1] ?? crypto.randomUUID()}`
}

export function nameOf(deviceId: string): string {
  return deviceId.replace(unique, '').replaceAll('-', ' ')
}

/** Suggests a name for this device: the browser and the system, as far as they are known. */
export function guessName(userAgent = navigator.userAgent): string {
  const first = (names: Record<string, string>) =>
    Object.entries(names).find(([part]) => userAgent.includes(part))?.[1] ?? ''
  const browser = first({ Firefox: 'Firefox', 'Edg/': 'Edge', Chrome: 'Chrome' })
  const system = first({ Android: 'Android', Windows: 'Windows', Mac: 'Mac', Linux: 'Linux' })
  return browser && system ? text('deviceOn', browser, system) : browser || system
}
