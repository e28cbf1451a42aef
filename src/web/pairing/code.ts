import { readRoute } from '../session/route.ts'

/** Keeps a pairing code in this tab during the sign-in at the provider. The service never sees it. */
const scanned = 'scanned-code'
const view = 'pair'

/** The link in the QR code. Browsers do not send the fragment. */
export function linkOf(code: string, userId: string): string {
  return `${location.origin}/#/${view}/${code}/${userId}`
}

/** Moves a scanned code from the address, and so from the tab's history, into this tab's storage. False if there is none. */
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

/** The code, and the user whose code it is. */
export function readScanned(): { code: string; userId: string } {
  const [code = '', userId = ''] = sessionStorage.getItem(scanned)?.split('/') ?? []
  return { code, userId }
}

/** Keeps the code that this tab is trying, and its user, over a reload, which loses the rest of the pairing. */
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

/** Forgets the codes. */
export function forgetCode(): void {
  sessionStorage.removeItem(scanned)
  sessionStorage.removeItem(tried)
}
