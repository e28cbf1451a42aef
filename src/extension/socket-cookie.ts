import { openRealtime } from '../../generated/paths.ts'
import type { BrowserCookie, CookiesApi } from './platform.ts'

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
    const kind = { secure: true, httpOnly: true, sameSite: 'no_restriction' } as const
    await cookies.set({
      url: new URL(openRealtime, baseUrl).href,
      name,
      value,
      path: openRealtime,
      ...lifetime,
      ...kind,
    })
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
