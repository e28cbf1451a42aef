/** Makes a WebSocket work in an extension's worker, which needs the session's cookie, and to stay awake. */
import { openRealtime } from '../../generated/paths.ts'
import type { OpenWebSocket } from '../client/sync/exchange/transport.ts'
import type { BrowserCookie, CookiesApi } from './browser-api.ts'

const name = 'service_session'

/**
 * Browsers send the session's cookie with an extension's `fetch`, but not with its WebSocket. This gives the channel's path a
 * copy of it that they do send, and keeps that in step. Other sites gain nothing by it: the service refuses sockets of
 * origins that it does not list. Call it at once when the worker starts; where it rejects, the sync polls.
 *
 * @param baseUrl the service's; the cookie can only be set if it begins with `https:` or names this machine
 */
export async function shareSessionWithSockets(cookies: CookiesApi, baseUrl: string): Promise<void> {
  const share = async ({ value, expirationDate }: BrowserCookie) => {
    const lifetime = expirationDate === undefined ? {} : { expirationDate }
    const place = { url: new URL(openRealtime, baseUrl).href, path: openRealtime }
    const kind = { secure: true, httpOnly: true, sameSite: 'no_restriction' } as const
    await cookies.set({ name, value, ...place, ...lifetime, ...kind })
  }
  const host = `.${new URL(baseUrl).hostname}`
  cookies.onChanged.addListener(({ cookie, removed }) => {
    const domain = cookie.domain?.replace(/^\.?/, '.') ?? host
    const isOurs = cookie.name === name && cookie.path === '/' && host.endsWith(domain)
    if (isOurs && !removed) share(cookie).catch(() => {})
  })
  const cookie = await cookies.get({ url: baseUrl, name })
  if (cookie) await share(cookie)
}

/**
 * A WebSocket for `createSync` that keeps an extension's worker awake. To Firefox, what a socket says is no work: it stops a
 * worker that has not called the browser for 30 s. The service pings every 20 s.
 *
 * @param runtime `chrome.runtime`
 */
export function wakefulSocket(runtime: { getPlatformInfo(): Promise<unknown> }): OpenWebSocket {
  return (url) => {
    const socket = new WebSocket(url)
    socket.addEventListener('message', () => void runtime.getPlatformInfo())
    return socket
  }
}
