/** Makes WebSockets work in an extension's worker: sends the session's cookie, and keeps the worker awake. */
import { openRealtime } from '../../generated/paths.ts'
import type { OpenWebSocket } from '../client/sync/exchange/transport.ts'
import type { BrowserCookie, CookiesApi } from './browser-api.ts'

const name = 'service_session'

/**
 * The session's cookie is `SameSite=Lax`. Browsers send it with an extension's `fetch`, but not with its WebSocket. So
 * this keeps a copy with `SameSite=None` for the path of the WebSocket. Other sites gain nothing from it, because the
 * service refuses sockets from origins that it does not list.
 *
 * Call it when the worker starts. If it rejects, the sync polls.
 *
 * @param baseUrl the service's address; the cookie can only be set if it begins with `https:` or names this machine
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
 * A WebSocket for `createSync` that keeps an extension's worker awake. Firefox stops a worker that has not called the
 * browser's API for 30 s, whatever its sockets receive. The service pings every 20 s.
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
