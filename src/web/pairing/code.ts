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

/** The code is tried once. */
export function takeScanned(): string | undefined {
  const code = isScanned() ? readScanned().code : undefined
  sessionStorage.removeItem(scanned)
  return code
}
