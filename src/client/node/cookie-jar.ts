import type { SendRequest } from '../api/retry.ts'
import type { OpenWebSocket } from '../sync/exchange/transport.ts'

/** A cookie that the service has set. */
export interface Cookie {
  name: string
  value: string
  path: string
  /** When the cookie expires (Unix ms); null if that is not known. */
  expiresAt: number | null
}

export interface CookieJar {
  /** Sends the cookies with the request, and keeps those that the response sets. Follows no redirects. */
  fetch: SendRequest
  /** Opens WebSockets with the current cookies. */
  webSocket: OpenWebSocket
}

/**
 * The cookies of one service (RFC 6265): Node's `fetch` and WebSocket keep none. They are sent only to the service's origin.
 *
 * @param keep called with all cookies after one was set, to store them
 */
export function createCookieJar(
  baseUrl: string,
  cookies: readonly Cookie[],
  keep: (cookies: Cookie[]) => void,
): CookieJar {
  const { origin } = new URL(baseUrl)
  const jar = new Map(cookies.map((cookie) => [cookie.name, cookie]))

  function headerFor(url: URL): string {
    if (httpOrigin(url) !== origin) return ''
    const matching = [...jar.values()].filter(({ path, expiresAt }) => {
      return isBelow(url.pathname, path) && (expiresAt === null || expiresAt > Date.now())
    })
    return matching.map(({ name, value }) => `${name}=${value}`).join('; ')
  }

  return {
    async fetch(request) {
      // Redirects are not followed, because one could lead to a server that only this machine can reach.
      const sent = new Request(request, { redirect: 'manual' })
      const header = headerFor(new URL(request.url))
      if (header !== '') sent.headers.set('cookie', header)
      const response = await fetch(sent)
      const lines = new URL(request.url).origin === origin ? response.headers.getSetCookie() : []
      for (const line of lines) {
        const cookie = parseSetCookie(line, Date.now())
        if (cookie) jar.set(cookie.name, cookie)
      }
      if (lines.length > 0) keep([...jar.values()])
      return response
    },
    webSocket(url) {
      // Node's WebSocket accepts headers, but its type is the browsers'.
      const NodeWebSocket = WebSocket as unknown as new (url: string, options: { headers: object }) => WebSocket
      return new NodeWebSocket(url, { headers: { cookie: headerFor(new URL(url)) } })
    },
  }
}

/** The cookies of a Cookie header, for example copied from a browser's developer tools. */
export function parseCookieHeader(header: string): Cookie[] {
  return header.split(';').flatMap((pair) => {
    const [name, value] = splitPair(pair)
    return name === '' ? [] : { name, value, path: '/', expiresAt: null }
  })
}

function parseSetCookie(line: string, now: number): Cookie | undefined {
  const [first = '', ...rest] = line.split(';')
  const [name, value] = splitPair(first)
  if (name === '') return undefined
  const attributes = new Map(rest.map(splitPair).map(([key, text]) => [key.toLowerCase(), text]))
  const path = attributes.get('path')
  return { name, value, path: path?.startsWith('/') ? path : '/', expiresAt: expiryOf(attributes, now) }
}

/** Max-Age takes precedence over Expires, which may be malformed. */
function expiryOf(attributes: Map<string, string>, now: number): number | null {
  const maxAge = attributes.get('max-age')
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return now + Number(maxAge) * 1000
  const expires = Date.parse(attributes.get('expires') ?? '')
  return Number.isNaN(expires) ? null : expires
}

/** Splits at the first `=`. The name is empty if there is none. */
function splitPair(pair: string): [string, string] {
  const at = pair.indexOf('=')
  return [pair.slice(0, Math.max(at, 0)).trim(), pair.slice(at + 1).trim()]
}

function isBelow(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)
}

function httpOrigin(url: URL): string {
  return `${url.protocol.replace('ws', 'http')}//${url.host}`
}
