import 'fake-indexeddb/auto'
import type { Test } from 'tap'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { createCookieJar } from '../../src/client/node/cookie-jar.ts'

/** A simulated browser for one test: cookies, storage, an address bar, a network that can fail. */
export interface Browser {
  /** The address that the page has navigated to; undefined if it has not. */
  address: string | undefined
  isOnline: boolean
  /** Signs in on the page that the browser has navigated to, and returns to the app. */
  signIn(name: string): Promise<void>
}

/** @param page the URL of the app's page */
export function openBrowser(t: Test, baseUrl: string, page: string): Browser {
  const { fetch: ownFetch, WebSocket: OwnWebSocket } = globalThis
  const jar = createCookieJar(baseUrl, [], () => {})
  const browser: Browser = {
    address: undefined,
    isOnline: true,
    async signIn(name) {
      const { pathname, search } = new URL(await signInAt(browser.address ?? '', name))
      browser.address = undefined
      const callback = new Request(baseUrl + pathname + search, { redirect: 'manual' })
      await throughJar(() => jar.fetch(callback))
    },
  }
  const open = new Set<WebSocket>()
  let isJar = false
  /** While the cookie jar itself sends, `fetch` and WebSocket are the platform's own. */
  const throughJar = <T>(send: () => T): T => {
    isJar = true
    try {
      return send()
    } finally {
      isJar = false
    }
  }
  const fetchWithCookies = async (input: Request | URL | string, init?: RequestInit) => {
    const request = new Request(input, init)
    // The test's other devices, in the same process, send cookies of their own.
    if (isJar || new URL(request.url).origin !== baseUrl || request.headers.has('cookie')) return ownFetch(request)
    if (!browser.isOnline) throw new TypeError('fetch failed')
    return throughJar(() => jar.fetch(request))
  }
  function SocketWithCookies(url: string, options?: object) {
    const Native = OwnWebSocket as unknown as new (url: string, options?: object) => WebSocket
    if (isJar || options) return new Native(url, options)
    if (!browser.isOnline) return new Native('ws://127.0.0.1:9')
    const socket = throughJar(() => jar.webSocket(url)) as WebSocket
    open.add(socket)
    return socket
  }
  t.intercept(globalThis, 'fetch', { value: fetchWithCookies })
  t.intercept(globalThis, 'WebSocket', { value: SocketWithCookies })
  Object.assign(globalThis, {
    localStorage: {},
    location: { href: page, assign: (url: string) => (browser.address = url) },
  })
  t.teardown(() => {
    for (const socket of open) socket.close()
    for (const name of ['localStorage', 'location']) Reflect.deleteProperty(globalThis, name)
  })
  return browser
}
