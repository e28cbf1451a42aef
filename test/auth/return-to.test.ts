import { unescape as decode } from 'node:querystring'
import fc from 'fast-check'
import t from 'tap'
import { parseReturnTo, redirectTarget } from '../../src/service/auth/return-to.ts'
import { depth } from '../support/depth.ts'

const here = 'http://127.0.0.1:3000'
const extension = 'chrome-extension://abcdefghijklmnopabcdefghijklmnop'
const origins = new Set([here, 'https://app.example', extension, 'moz-extension://*'])

t.test('ordinary return URLs are kept', async (t) => {
  const kept: [string, string][] = [
    ['/', '/'],
    ['/a?b=c#d', '/a?b=c#d'],
    ['/%C3%A9', '/%C3%A9'],
    ['/é?ü#ß', '/%C3%A9?%C3%BC#%C3%9F'],
    ['/search?q=a%20b', '/search?q=a%20b'],
    ['/a%20b', '/a%20b'],
    ['/a b', '/a%20b'],
    ['/100%', '/100%'],
    ['/a/../b', '/b'],
    ['/go?next=//other.example', '/go?next=//other.example'],
    ['/go?next=https%3A%2F%2Fother.example%2F', '/go?next=https%3A%2F%2Fother.example%2F'],
    ['/a//b', '/a//b'],
    [here, `${here}/`],
    [`${here}?a#b`, `${here}/?a#b`],
    ['https://app.example/x?y#z', 'https://app.example/x?y#z'],
    ['https://app.example#z', 'https://app.example/#z'],
    [`${extension}/page.html?é`, `${extension}/page.html?%C3%A9`],
  ]
  for (const [value, parsed] of kept) t.equal(parseReturnTo(value, origins), parsed, value)
})

t.test('a return URL to another origin is refused', async (t) => {
  const refused = [
    ...['https://app.example.evil.example/', 'https://app.example@evil.example/', 'https://app.example:444/'],
    ...[
      'http://app.example/',
      'HTTPS://APP.example/',
      'https://app.example\\x',
      `${extension}x/`,
      'chrome-extension://',
    ],
    ...['moz-extension://*', 'moz-extension://*/x', 'moz-extension://00000000-0000-4000-8000-000000000000/x', 'null'],
    ...[
      '/%2fevil.example',
      '/%5cevil.example',
      '/%255cevil.example',
      '/%252fevil.example',
      '/%25252525252fevil.example',
    ],
    ...[
      '/.//evil.example',
      '/%2e%2e//evil.example',
      '/.%2f%2fevil.example',
      '/a/..%2f..%2f%2fevil.example',
      '/a/..//evil',
    ],
    ...[
      'https://app.example//evil.example',
      'https://app.example/%09',
      '/a?b=%0d%0aSet-Cookie:x',
      '/#%00',
      '/\u0085',
      '/%C2%85',
    ],
  ]
  for (const value of refused) t.equal(parseReturnTo(value, origins), null, JSON.stringify(value))
})

t.test('every accepted URL is ASCII, parses to itself, and stays on its origin when decoded repeatedly', async () => {
  const decoders = [decode, lenient, (text: string) => lenient(text.replaceAll('+', ' '))]
  const codes = '/ // \\ %2f %5c %25 2f %2e . .. @ : ? # %09 %0a é % %c0%af http: javascript: evil.example'.split(' ')
  const bits = fc.constantFrom(...codes, ' ', '\t', '\u2028', '\ud800', here, 'https://app.example', extension)
  const coded = fc.constantFrom('/', '\\', '\t', '\n', '\0', '%', '.', '//evil.example', 'a', '@', ':', '+')
  const coding = fc.tuple(coded, fc.nat({ max: 8 })).map(([text, times]) => {
    let form: string = text
    for (let time = 0; time < times; time++) form = form.replace(/[^\w]/g, (one) => `%${hex(one)}`)
    return form
  })
  fc.assert(
    fc.property(fc.array(fc.oneof(bits, coding, fc.string()), { maxLength: 8 }), (parts) => {
      const value = parts.join('')
      for (const text of [value, `/${value}`, here + value]) {
        const parsed = parseReturnTo(text, origins)
        if (parsed === null) continue
        if (!/^[\x21-\x7e]{1,2048}$/.test(parsed)) return false
        if (parseReturnTo(parsed, origins) !== parsed) return false
        const isListed = [...origins].some((origin) => parsed.startsWith(`${origin}/`))
        if (!staysHere(parsed) && !isListed && !staysOnMachine(parsed)) return false
        if (parsed.startsWith('/') && !decoders.every((decoder) => staysUnder(decoder, parsed))) return false
      }
      return true
    }),
    { numRuns: depth(4_000, 40_000) },
  )
})

function staysUnder(decoder: (text: string) => string, parsed: string): boolean {
  for (let form = parsed, before = ''; form !== before; form = decoder(form)) {
    if (!staysHere(form)) return false
    before = form
  }
  return true
}

t.test('a return URL is at most 2,048 characters, parsed too', async (t) => {
  t.equal(parseReturnTo(`/${'a'.repeat(2047)}`, origins)?.length, 2048)
  t.equal(parseReturnTo(`/${'a'.repeat(2048)}`, origins), null)
  t.equal(parseReturnTo(`/${'é'.repeat(2000)}`, origins), null)
  t.equal(parseReturnTo(`/${'%25'.repeat(682)}`, origins)?.length, 2047)
  t.equal(parseReturnTo(`/%${'25'.repeat(1000)}2f`, origins), null, 'encoded a thousand times')
})

/** A letter that is percent-encoded `times` times: `/%25..2541` becomes `/A`. */
const nested = (times: number, letter = '41') => `/%${'25'.repeat(times - 1)}${letter}`

t.test('a URL inside a URL inside a URL is kept, one that is coded five times or more is refused', async (t) => {
  const kept = (times: number[]) => times.map((time) => parseReturnTo(nested(time), origins) !== null)
  t.same(kept([1, 2, 3, 4]), [true, true, true, true])
  t.same(kept([5, 6, 100, 1023]), [false, false, false, false])
  t.equal(parseReturnTo(`/go?next=${encodeURIComponent(encodeURIComponent('/a?b=c d%20e'))}`, origins) !== null, true)
})

t.test('paths go to the web app when there is one', async (t) => {
  t.equal(redirectTarget('/a?b', undefined), '/a?b')
  t.equal(redirectTarget('/a?b', 'https://app.example'), 'https://app.example/a?b')
  t.equal(redirectTarget('https://other.example/a', 'https://app.example'), 'https://other.example/a')
})

function staysOnMachine(url: string): boolean {
  const { protocol, hostname, username, port } = new URL(url)
  return protocol === 'http:' && ['127.0.0.1', '[::1]'].includes(hostname) && username === '' && port !== ''
}

function hex(letter: string): string {
  return letter.charCodeAt(0).toString(16).padStart(2, '0')
}

/** Like decodeURIComponent, but leaves text that cannot be decoded as it is. */
function lenient(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run)
    } catch {
      return run
    }
  })
}

function staysHere(location: string): boolean {
  return URL.parse(location, `${here}/api/v1/auth/callback`)?.origin === here
}
