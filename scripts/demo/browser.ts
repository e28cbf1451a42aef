/** A browser's cookies and what it does with them; each device has its own. */
export interface Browser {
  /** Sends the cookies that belong to the address and keeps those that come back. Follows no redirect. */
  fetch(url: URL, request?: RequestInit): Promise<Response>
  cookiesFor(url: URL): string
}

interface Cookie {
  host: string
  path: string
  pair: string
}

/** As much of RFC 6265 as a session of minutes needs: host and path decide, ports do not, nothing expires. */
export function openBrowser(): Browser {
  const jar = new Map<string, Cookie>()

  function cookiesFor({ hostname, pathname }: URL): string {
    const fitting = [...jar.values()].filter(({ host, path }) => host === hostname && isUnder(path, pathname))
    return fitting.map(({ pair }) => pair).join('; ')
  }

  return {
    cookiesFor,
    async fetch(url, request = {}) {
      const headers = new Headers(request.headers)
      headers.set('cookie', cookiesFor(url))
      const response = await fetch(url, { ...request, headers, redirect: 'manual' })
      for (const line of response.headers.getSetCookie()) {
        const [pair = ''] = line.split(';')
        const path = /;\s*path=([^;]+)/i.exec(line)?.[1] ?? '/'
        jar.set(`${url.hostname} ${path} ${pair.split('=')[0]}`, { host: url.hostname, path, pair })
      }
      return response
    },
  }
}

function isUnder(path: string, pathname: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)
}
