import { type Client, createClient } from '../../../src/client/api/client.ts'
import type { SendRequest } from '../../../src/client/api/retry.ts'
import { sharedApp } from '../../support/shared-app.ts'

/** A signed-in tab of a browser, of a person of its own: a jar with two cookies, at the service in this process. */
export interface Tab {
  client: Client
  userId: string
  /** Paths of the requests that reached the service, in order. */
  sent: string[]
  jar: Record<'service_session' | 'service_refresh', string>
}

/** `around` stands between the client and the network. */
export async function openTab(around: (send: SendRequest) => SendRequest = (send) => send): Promise<Tab> {
  const { user, listen } = await sharedApp()
  const { session, refresh, userId } = await user('ada')
  const tab: Omit<Tab, 'client'> = {
    userId,
    sent: [],
    jar: { service_session: session, service_refresh: refresh },
  }
  const client = createClient({ baseUrl: await listen(), deviceId: 'laptop', fetch: around(withCookies(tab)) })
  return { ...tab, client }
}

/** Another tab of the same browser. */
export function anotherTab(tab: Tab): Client {
  return createClient({ baseUrl: tab.client.baseUrl, deviceId: 'laptop', fetch: withCookies(tab) })
}

function withCookies({ jar, sent }: Pick<Tab, 'jar' | 'sent'>): SendRequest {
  return async (request) => {
    sent.push(new URL(request.url).pathname)
    const pairs = Object.entries(jar).map(([name, value]) => `${name}=${value}`)
    const response = await fetch(
      new Request(request, { headers: { ...Object.fromEntries(request.headers), cookie: pairs.join('; ') } }),
    )
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (name && value !== undefined) Object.assign(jar, { [name]: value })
    }
    return response
  }
}
