import { readRoute } from '../session/route.ts'

/** The code of a pairing stays in this tab, for the way to the provider and back: the service never sees it. */
const scanned = 'scanned-code'
const view = 'pair'

/** The link that a phone's camera opens. A browser sends nothing of a fragment. */
export function linkOf(code: string, userId: string): string {
  return `${location.origin}/#/${view}/${code}/${userId}`
}

/** Takes a scanned code out of the address, where it would stay in the tab's history. True if there was one. */
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

/** The code, and of whom it is. */
export function readScanned(): { code: string; userId: string } {
  const [code = '', userId = ''] = sessionStorage.getItem(scanned)?.split('/') ?? []
  return { code, userId }
}

/** The code that this tab is trying, and for whom: a page that is reloaded meanwhile forgets everything else of the pairing. */
const tried = 'tried-code'

export interface Attempt {
  code: string
  /** True if this tab has tried it before. */
  isAgain: boolean
}

/** Takes the code that was scanned or, after a reload, the one that this tab was trying for the person. */
export function takeCode(userId: string): Attempt | undefined {
  const isAgain = !isScanned()
  const [code, owner] = isAgain ? (sessionStorage.getItem(tried)?.split('/') ?? []) : [readScanned().code, userId]
  forgetCode()
  if (code === undefined || owner !== userId) return undefined
  sessionStorage.setItem(tried, `${code}/${userId}`)
  return { code, isAgain }
}

/** There is nothing left to try. */
export function forgetCode(): void {
  sessionStorage.removeItem(scanned)
  sessionStorage.removeItem(tried)
}
