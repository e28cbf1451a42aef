import { type Client, type SendRequest, unwrap } from '../../src/client/index.ts'
import { signInAt } from '../servers/sign-in.ts'

/** Signs in like a person: types a name on the provider's page, and follows redirects. Returns the user's id. */
export async function signIn({ client, browser }: SignedOut, name: string): Promise<string> {
  const returnTo = '/api/v1/auth/session'
  const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body: { returnTo } }))
  const answer = await browser.fetch(new Request(await signInAt(authorizationUrl, name)))
  const landing = answer.headers.get('location')
  if (landing !== returnTo) throw new Error(`The sign-in ended at ${landing}`)
  return unwrap(await client.GET(returnTo)).user.user_id
}

interface SignedOut {
  client: Client
  browser: Browser
}

/** Keeps cookies like a browser, unlike Node's `fetch`: sends each to the host that set it, below its path. */
export class Browser {
  readonly #cookies = new Map<string, { host: string; path: string; pair: string }>()

  cookiesFor(url: string): string {
    const { hostname, pathname } = new URL(url)
    const fitting = [...this.#cookies.values()].filter(
      ({ host, path }) => host === hostname && pathname.startsWith(path),
    )
    return fitting.map(({ pair }) => pair).join('; ')
  }

  readonly fetch: SendRequest = async (request) => {
    request.headers.set('cookie', this.cookiesFor(request.url))
    const response = await fetch(request, { redirect: 'manual' })
    const { hostname: host } = new URL(request.url)
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const path = /; *path=([^;]*)/i.exec(line)?.[1] ?? '/'
      this.#cookies.set(`${host} ${pair.split('=')[0]}`, { host, path, pair })
    }
    return response
  }
}
