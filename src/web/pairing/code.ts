import { readRoute } from '../session/route.ts'

/** Storage key of a scanned pairing code, which stays in this tab during the sign-in at the provider. */
const scanned = 'scanned-code'
const view = 'pair'

/** The link in the QR code. The code is in the fragment, which browsers do not send to the service. */
export function linkOf(code: string, userId: string): string {
  return `${location.origin}/#/${view}/${code}/${userId}`
}

/** Moves a scanned code from the address and its history entry into this tab's storage. False if there is no code. */
export function keepScanned(): boolean {
  const route = readRoute(location.hash)
  if (route.view !== view) return false
  sessionStorage.setItem(scanned, route.rest)
  history.replaceState(null, '', location.pathname + location.search)
  return true
}

export function isScanned(): boolean {
  return sessionStorage.getItem(scanned) !== null
}

/** The scanned code, and the user who shows it. */
export function readScanned(): { code: string; userId: string } {
  const [code = '', userId = ''] = sessionStorage.getItem(scanned)?.split('/') ?? []
  return { code, userId }
}

/** Storage key of the code that this tab is trying, and its user. A reload loses the rest of the pairing. */
const tried = 'tried-code'

export interface Attempt {
  code: string
  /** True if this tab has tried the code before. */
  isAgain: boolean
}

/** Takes the scanned code or, after a reload, the one that this tab was trying for this user. */
export function takeCode(userId: string): Attempt | undefined {
  const isAgain = !isScanned()
  const [code, owner] = isAgain ? (sessionStorage.getItem(tried)?.split('/') ?? []) : [readScanned().code, userId]
  forgetCode()
  if (code === undefined || owner !== userId) return undefined
  sessionStorage.setItem(tried, `${code}/${userId}`)
  return { code, isAgain }
}

export function forgetCode(): void {
  sessionStorage.removeItem(scanned)
  sessionStorage.removeItem(tried)
}
