import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { rawRequest } from '../hostile/raw.ts'
import { buildApp } from '../support/app.ts'
import { checkAnswer } from '../support/contract.ts'

const { listen, user } = await buildApp(t)
const origin = await listen()
const ada = await user('ada')

/** Cookies of 4,000 bytes, such as another host of the same domain may set. A browser keeps 180 per domain. */
const junk = (count: number) =>
  Array.from({ length: count }, (_, index) => `junk${index}=${'x'.repeat(4000)}`).join('; ')
const withCookies = (count: number, path = '/api/v1/auth/session') =>
  rawRequest(`GET ${path}`, [`Cookie: ${junk(count)}; service_session=${ada.session}`])

interface Sending {
  bytes: number
  everyMs: number
}

/** Sends a request in parts. Returns the status and the Clear-Site-Data header. */
async function send(request: string, sending?: Sending) {
  const { text, fault } = await answerTo(request, sending)
  return {
    status: Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0),
    clears: /clear-site-data: ([^\r]*)/i.exec(text)?.[1],
    fault,
  }
}

async function answerTo(request: string, { bytes, everyMs }: Sending = { bytes: request.length, everyMs: 0 }) {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname).setNoDelay()
  let text = ''
  let fault: unknown
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', (error) => {
    fault = error
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await once(socket, 'connect')
  for (let at = 0; at < request.length && socket.writable; at += bytes) {
    socket.write(request.slice(at, at + bytes), 'latin1')
    if (everyMs > 0) await sleep(everyMs)
  }
  await closed
  return { text, fault }
}

const ways: Record<string, Sending | undefined> = {
  'at once': undefined,
  'in slow packets': { bytes: 14_000, everyMs: 3 },
  'in small parts': { bytes: 4096, everyMs: 1 },
}

t.test('A session works with seven useless cookies of 4,000 bytes', async (t) => {
  for (const [way, sending] of Object.entries(ways))
    t.same(await send(withCookies(7), sending), { status: 200, clears: undefined, fault: undefined }, way)
})

t.test('A browser with too many cookies gets an answer that tells it to clear them', async (t) => {
  const freed = { status: 431, clears: '"cookies"', fault: undefined }
  for (const count of [9, 12, 180]) t.same(await send(withCookies(count)), freed, `${count} cookies`)
  for (const [way, sending] of Object.entries(ways)) {
    t.same(await send(withCookies(20), sending), freed, way)
    if (sending?.bytes !== 4096) t.same(await send(withCookies(180), sending), freed, `180 ${way}`)
  }
})

t.test('The answer to too large headers matches the contract', async (t) => {
  const { text } = await answerTo(withCookies(20, '/api/v1/auth/callback'))
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const headers = head
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(': ') as [string, string])
  const named = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))
  const answer = checkAnswer('GET', '/api/v1/auth/callback', 431, named, Buffer.from(body))
  t.same(answer.body, { error: 'Request headers too large' })
})

t.test('A head too large for another reason clears no cookies, or any website could sign people out', async (t) => {
  const long = (length: number) => `/?${'x'.repeat(length)}`
  const spaces = ' x'.repeat(40_000)
  const requests: Record<string, string> = {
    'a long URL': withCookies(1, long(31_000)),
    'a longer URL': withCookies(1, long(300_000)),
    'a URL of which cookies exceed the rest': withCookies(3, long(24_000)),
    'a URL, then a body': rawRequest(`POST ${long(40_000)}`, [`Content-Length: ${spaces.length}`], spaces),
  }
  for (const [name, request] of Object.entries(requests)) {
    for (const [way, sending] of Object.entries(ways)) {
      if (request.length > 100_000 && sending?.bytes === 4096) continue
      t.same(await send(request, sending), { status: 431, clears: undefined, fault: undefined }, `${name} ${way}`)
    }
  }
  t.match(await send(withCookies(20).slice(0, 40_000), { bytes: 4096, everyMs: 1 }), { status: 431, clears: undefined })
})
