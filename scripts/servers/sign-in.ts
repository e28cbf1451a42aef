import { DomUtils, parseDocument } from 'htmlparser2'

/** A browser's cookies for one provider. */
export type Cookies = Map<string, { path: string; pair: string }>

/** Signs in like a browser, and types `name` if asked. Returns the URL of the callback, which it does not open. */
export async function signInAt(authorizationUrl: string, name: string, cookies: Cookies = new Map()): Promise<string> {
  const callback = new URL(authorizationUrl).searchParams.get('redirect_uri') ?? ''
  let url = new URL(authorizationUrl)
  let form: URLSearchParams | null = null
  for (let hops = 0; hops < 10; hops++) {
    if (url.href === callback || url.href.startsWith(`${callback}?`)) return url.href
    const sent = [...cookies.values()].filter(({ path }) => url.pathname.startsWith(path)).map(({ pair }) => pair)
    const response: Response = await fetch(url, {
      method: form === null ? 'GET' : 'POST',
      body: form,
      redirect: 'manual',
      headers: { cookie: sent.join('; ') },
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const path = /;\s*path=([^;]+)/i.exec(line)?.[1] ?? '/'
      cookies.set(`${pair.split('=')[0]} ${path}`, { path, pair })
    }
    const location = response.headers.get('location')
    const page = await response.text()
    if (location !== null) {
      url = new URL(location, url)
      form = null
    } else {
      if (!response.ok) throw new Error(`${url.pathname} responded with ${response.status}: ${page}`)
      ;({ url, form } = fillIn(page, url, name))
    }
  }
  throw new Error(`The sign-in did not reach ${callback}; it ended at ${url}`)
}

function fillIn(page: string, url: URL, name: string): { url: URL; form: URLSearchParams } {
  const element = DomUtils.findOne(({ name }) => name === 'form', parseDocument(page).children)
  if (element === null) throw new Error(`No form on ${url.pathname}: ${page}`)
  const form = new URLSearchParams()
  for (const input of DomUtils.getElementsByTagName('input', element)) {
    form.set(input.attribs.name ?? '', input.attribs.type === 'hidden' ? (input.attribs.value ?? '') : name)
  }
  return { url: new URL(element.attribs.action ?? url, url), form }
}
