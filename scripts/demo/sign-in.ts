import { type Client, type SendRequest, unwrap } from '../../src/client/index.ts'

/** Signs in as a person would: opens the provider's page, types a name, and lets the redirects do the rest. Gives the user_id. */
export async function signIn({ client, browser }: SignedOut, name: string): Promise<string> {
  const returnTo = '/api/v1/auth/session'
  const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body: { returnTo } }))
  const page = await browser.open(new Request(authorizationUrl))
  const form = new URLSearchParams({ name })
  const landing = await browser.open(new Request(page, { method: 'POST', body: form }))
  if (landing.pathname !== returnTo) throw new Error(`The sign-in ended at ${landing.origin}${landing.pathname}`)
  return unwrap(await client.GET(returnTo)).user.user_id
}

interface SignedOut {
  client: Client
  browser: Browser
}

/** Keeps cookies as a browser does, and Node's `fetch` does not: each goes back to the host that set it. */
export class Browser {
  readonly #cookies = new Map<string, { host: string; pair: string }>()

  cookiesFor(url: string): string {
    const { hostname } = new URL(url)
    const fitting = [...this.#cookies.values()].filter(({ host }) => host === hostname)
    return fitting.map(({ pair }) => pair).join('; ')
  }

  readonly fetch: SendRequest = async (request) => {
    request.headers.set('cookie', this.cookiesFor(request.url))
    const response = await fetch(request, { redirect: 'manual' })
    const { hostname: host } = new URL(request.url)
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      this.#cookies.set(`${host} ${pair.split('=')[0]}`, { host, pair })
    }
    return response
  }

  /** Follows redirects up to a page. */
  async open(request: Request, mostRedirects = 10): Promise<URL> {
    const response = await this.fetch(request)
    const location = response.headers.get('location')
    if (location === null) return new URL(response.url)
    if (mostRedirects === 0) throw new Error('Too many redirects')
    return this.open(new Request(new URL(location, response.url)), mostRedirects - 1)
  }
}
