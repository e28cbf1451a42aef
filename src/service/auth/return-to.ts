const maxLength = 2048
/** Proxies and browsers decode once or twice. A URL within a URL within a URL needs fewer decodings than this. */
const maxDecodings = 4
/** The address of a program on the user's machine (RFC 8252, section 7.3). */
const loopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([1-9]\d{0,4})(?=[/?#]|$)/
const maxPort = 65_535

/**
 * Normalizes a return URL to the form that is stored, sent as `state` and put into `Location`: a path on this origin,
 * or an absolute URL on a listed origin or the loopback interface. ASCII; parsing the result again does not change it.
 * Null means that it must be refused.
 */
export function parseReturnTo(value: string, origins: Iterable<string>): string | null {
  if (value.length > maxLength) return null
  const origin = value.startsWith('/') ? '' : originOf(value, origins)
  if (origin === null) return null
  const rest = value.slice(origin.length)
  if (!staysOnOrigin(rest.startsWith('/') ? rest : `/${rest}`)) return null
  const { pathname, search, hash } = new URL(rest, 'http://localhost')
  const parsed = `${origin}${pathname}${search}${hash}`
  return parsed.length > maxLength ? null : parsed
}

/** True if the URL leads to a program on the user's machine, and not to a listed web app. */
export function isProgram(returnTo: string, origins: Iterable<string>): boolean {
  return !returnTo.startsWith('/') && listedOrigin(returnTo, origins) === null && loopbackOrigin(returnTo) !== null
}

/** The URL to redirect the browser to. A path belongs to the web app's origin, if there is one. */
export function redirectTarget(returnTo: string, appUrl: string | undefined): string {
  return appUrl !== undefined && returnTo.startsWith('/') ? appUrl + returnTo : returnTo
}

function originOf(value: string, origins: Iterable<string>): string | null {
  return listedOrigin(value, origins) ?? loopbackOrigin(value)
}

function loopbackOrigin(value: string): string | null {
  const [origin, port] = loopback.exec(value) ?? []
  return origin === undefined || Number(port) > maxPort ? null : origin
}

/** Compares strings, because the parsed origin of chrome-extension://… is "null". Ignores origins with wildcards. */
function listedOrigin(value: string, origins: Iterable<string>): string | null {
  for (const origin of origins) {
    if (origin.includes('*') || !value.startsWith(origin)) continue
    if (/^(?:[/?#]|$)/.test(value.slice(origin.length))) return origin
  }
  return null
}

/**
 * True if every decoded form stays on this origin, too: a proxy or browser may decode once more. Refuses URLs that were
 * encoded unreasonably often, because each decoding costs time.
 */
function staysOnOrigin(path: string): boolean {
  let form = path
  for (let decodings = 0; decodings <= maxDecodings; decodings++) {
    if (/[\\\p{Cc}]/u.test(form) || form.startsWith('//')) return false
    if (new URL(form, 'http://localhost').pathname.startsWith('//')) return false
    const coded = form
    form = decode(coded)
    if (form === coded) return true
  }
  return false
}

function decode(form: string): string {
  return form.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
}
