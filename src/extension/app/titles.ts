/**
 * Asks a site for a page's title. Loaded only when a title is missing, where there is an HTML parser: in Chrome's
 * offscreen document, or in Firefox's background page.
 */
import { siteOf } from '../../client/bookmark/address.ts'
import { decodeFile } from '../../client/bookmark-file/decode.ts'
import { platform } from './platform.ts'

const timeoutMs = 15_000
/** Bytes of a page that are read at most to find its title. */
const mostBytes = 524_288
const longestTitle = 500

platform.runtime.onMessage.addListener((question, _sender, respond) => {
  if (question.ask !== 'title') return false
  titleOf(question.url).then(
    (title) => respond({ title }),
    () => respond({}),
  )
  return true
})

/**
 * The title of a page, shortened; empty if it has none, is not public, or leads to another site. Sends no cookies or referrer.
 *
 * @throws the error of `fetch`, or of reading the response
 */
export async function titleOf(address: string): Promise<string> {
  const url = new URL(address)
  if (url.protocol === 'http:' && url.port === '') url.protocol = 'https:'
  if (!isPublic(url)) return ''
  const signal = AbortSignal.timeout(timeoutMs)
  const privately = { credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store' } as const
  const response = await fetch(url, { ...privately, headers: { accept: 'text/html' }, signal })
  const type = response.headers.get('content-type') ?? ''
  const isPage = response.ok && /^(?:text\/html|application\/xhtml\+xml)\b/i.test(type)
  const end = new URL(response.url || url)
  // A redirect to another site often leads to a sign-in page.
  const isMeant = isPublic(end) && isSameSite(end, url)
  if (!(isPage && isMeant && response.body)) {
    await response.body?.cancel()
    return ''
  }
  const html = decode(await readHead(response.body), type)
  const { title } = new DOMParser().parseFromString(html, 'text/html')
  return [...title].slice(0, longestTitle).join('')
}

/** Reads until the end of the title, or up to `mostBytes`. */
async function readHead(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Uint8Array> {
  const reader = body.getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  const latin = new TextDecoder('latin1')
  let [size, text, isEnd] = [0, '', false]
  while (!isEnd && size < mostBytes && !/<\/title/i.test(text)) {
    const { value, done } = await reader.read()
    isEnd = done
    if (!value) continue
    parts.push(value)
    size += value.length
    // The tag may be split between two chunks.
    text = text.slice(-'</title'.length) + latin.decode(value)
  }
  await reader.cancel()
  return new Uint8Array(await new Blob(parts).slice(0, mostBytes).arrayBuffer())
}

/** Decodes with the charset of the response, or else by `decodeFile`: byte order mark, UTF-8 if it fits, META, windows-1252. */
function decode(bytes: Uint8Array, type: string): string {
  const [, label] = /charset\s*=\s*"?([\w.:-]+)/i.exec(type) ?? []
  try {
    if (label) return new TextDecoder(label).decode(bytes)
  } catch {
    // The charset is unknown.
  }
  return decodeFile(bytes)
}

/** Host names that public servers do not have. */
const privateName =
  /^[^.]*$|\.(?:local|localhost|internal|intranet|lan|home|corp|private|test|invalid|onion|home\.arpa)$/
/** IPv4 addresses of private and providers' networks, of this machine, and for many receivers at once (RFC 6890). */
const privateV4 =
  /^(?:0|10|127|22[4-9]|2[3-5]\d|169\.254|192\.168|192\.0\.0|198\.1[89]|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./
const publicV6 = /^\[(?!2002:)[23][0-9a-f]{3}:/

/** True if the address looks public: encrypted, without a name or password, and its host is not a known private one. */
export function isPublic({ protocol, hostname, username, password }: URL): boolean {
  const host = hostname.replace(/\.$/, '')
  if (protocol !== 'https:' || username || password) return false
  if (host.startsWith('[')) return publicV6.test(host)
  return !(/^[\d.]+$/.test(host) ? privateV4 : privateName).test(host)
}

function isSameSite(one: URL, other: URL): boolean {
  const [first, second] = [one, other].map(({ href }) => `.${siteOf(href)}`) as [string, string]
  return first.endsWith(second) || second.endsWith(first)
}
