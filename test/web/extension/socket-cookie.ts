import type { Cookie, ExtensionPlatform } from './platform.ts'

const name = 'service_session'
const path = '/api/v1/sync/realtime'

/**
 * Chromium sends the SameSite=Lax cookies of a host with an extension's `fetch`, but not with its WebSocket. This gives
 * the channel's path a copy of the session's cookie that is sent, and keeps it in step. Other sites' pages gain nothing by
 * it: the service refuses sockets of origins that it does not list.
 */
export async function shareSessionWithSockets(cookies: ExtensionPlatform['cookies'], baseUrl: string): Promise<void> {
  const share = async ({ value, expirationDate }: Cookie) => {
    const lifetime = expirationDate === undefined ? {} : { expirationDate }
    const kind = { secure: true, httpOnly: true, sameSite: 'no_restriction' } as const
    await cookies.set({ url: new URL(path, baseUrl).href, name, value, path, ...lifetime, ...kind })
  }
  cookies.onChanged.addListener(({ cookie, removed }) => {
    if (cookie.name === name && cookie.path === '/' && !removed) share(cookie)
  })
  const cookie = await cookies.get({ url: baseUrl, name })
  if (cookie) await share(cookie)
}
