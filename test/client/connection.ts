import { type Client, createClient, type SendRequest } from '../../src/client/index.ts'
import type { TestUser } from '../support/app.ts'
import { sharedApp } from '../support/shared-app.ts'

/** A device's connection to a service in the same process. */
export interface Connection {
  /** The session of the device's requests; null without a network. */
  session: TestUser | null
}

export function clientOver(connection: Connection, deviceId: string): Client {
  return createClient({
    baseUrl: 'http://localhost',
    deviceId,
    fetch: async (request) => {
      if (!connection.session) throw new TypeError('There is no network')
      return send(connection.session, request)
    },
  })
}

async function send(session: TestUser, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const payload = request.body === null ? {} : { payload: await request.text() }
  const headers = Object.fromEntries(request.headers)
  const answer = await session.call(request.method, pathname + search, { headers, ...payload })
  const code = answer.headers['x-error-code']
  return Response.json(answer.body, { status: answer.status, ...(code && { headers: { 'x-error-code': `${code}` } }) })
}

/** The browser's cookies; empty if nobody is signed in. */
export type CookieJar = Partial<Record<'service_session' | 'service_refresh', string>>

export function jarOf({ session, refresh }: TestUser): CookieJar {
  return { service_session: session, service_refresh: refresh }
}

export function cookieOf(jar: CookieJar): string {
  return Object.entries(jar)
    .map((pair) => pair.join('='))
    .join('; ')
}

/** Sends over HTTP with the jar's cookies. The response may change them. */
export async function fetchWith(jar: CookieJar, request: Request): Promise<Response> {
  const copy = new Request(request)
  copy.headers.set('cookie', cookieOf(jar))
  const response = await fetch(copy)
  setCookies(jar, response.headers.getSetCookie())
  return response
}

/** @param lines as in `set-cookie`; a cookie without a value is deleted */
export function setCookies(jar: CookieJar, lines: readonly string[]): void {
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === '') Reflect.deleteProperty(jar, name)
    else Object.assign(jar, { [name]: value })
  }
}

/** A tab in the browser of a new user, who is signed in. Its requests go over HTTP. */
export interface Tab {
  client: Client
  userId: string
  /** Paths of the requests that were sent to the service, in order. */
  sent: string[]
  jar: CookieJar
}

/** @param around wraps the function with which the client sends requests */
export async function openTab(around: (send: SendRequest) => SendRequest = (send) => send): Promise<Tab> {
  const { user, listen } = await sharedApp()
  const person = await user('ada')
  const tab: Omit<Tab, 'client'> = { userId: person.userId, sent: [], jar: jarOf(person) }
  const client = createClient({ baseUrl: await listen(), deviceId: 'laptop', fetch: around(sendingIn(tab)) })
  return { ...tab, client }
}

/** Another tab of the same browser. */
export function anotherTab(tab: Tab): Client {
  return createClient({ baseUrl: tab.client.baseUrl, deviceId: 'laptop', fetch: sendingIn(tab) })
}

function sendingIn({ jar, sent }: Pick<Tab, 'jar' | 'sent'>): SendRequest {
  return (request) => {
    sent.push(new URL(request.url).pathname)
    return fetchWith(jar, request)
  }
}
