/**
 * A middlebox (a proxy, a captive portal or a firewall) answers in the service's place. Its answers must not count:
 * after it is removed, all edits arrive without help, none is quarantined and nobody is signed out.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { answerFields } from '../../../generated/answers.ts'
import { createClient } from '../../../src/client/api/client.ts'
import type { SendRequest } from '../../../src/client/api/retry.ts'
import { OfflineError } from '../../../src/client/errors.ts'
import * as deferred from '../../../src/client/sync/deferred.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { createSyncOver, type Sync } from '../../../src/client/sync/sync.ts'
import { depth, isDeep } from '../../support/depth.ts'
import { type CookieJar, cookieOf, jarOf, setCookies } from '../connection.ts'
import { counted, until } from './clock.ts'
import { bookmark, openPeople, type Person } from './device.ts'
import { TestSocket } from './network.ts'

const people = await openPeople()
const required = { error: 'Authentication required' }

/** Returns the answer in the service's place, or undefined to forward the request. */
type Middlebox = (request: Request, body: string) => Response | undefined

interface Behind {
  sync: Sync
  box: Middlebox | undefined
  cookies: CookieJar
  /** The times of the middlebox's responses (Unix ms). */
  answers: number[]
  /** The ids of the sync's errors. */
  errors: (string | undefined)[]
  sockets: TestSocket[]
}

/** A device with the real client behind a middlebox, which also keeps sockets from opening. */
function openBehind(person: Person, id: string): Behind {
  const { user, world } = person
  const behind = { cookies: jarOf(user), answers: [], errors: [], sockets: [], box: undefined } as unknown as Behind
  const fetch: SendRequest = (request) =>
    counted(async () => {
      request.signal.throwIfAborted()
      const payload = request.body ? await request.text() : undefined
      const made = behind.box?.(request, payload ?? '')
      if (made) {
        behind.answers.push(world.time)
        return made
      }
      const headers = { ...Object.fromEntries(request.headers), cookie: cookieOf(behind.cookies) }
      const { pathname: url } = new URL(request.url)
      const method = request.method as 'GET'
      const answer = await people.app.app.inject({ method, url, headers, ...(payload && { payload }) })
      setCookies(behind.cookies, [answer.headers['set-cookie'] ?? []].flat())
      const text = answer.rawPayload.length > 0 ? answer.payload : null
      return asFetched(new Response(text, { status: answer.statusCode, headers: answer.headers as HeadersInit }))
    })
  const client = createClient({ baseUrl: 'http://localhost', deviceId: id, fetch })
  let epoch = ''
  const webSocket = (url: string) => {
    const socket = new TestSocket(Number(new URL(url).searchParams.get('since')), () => epoch)
    behind.sockets.push(socket)
    queueMicrotask(() => (behind.box ? socket.close(1006) : socket.greet(world.time)))
    return socket
  }
  behind.sync = createSyncOver(
    ({ clientTransport }) => {
      const transport = clientTransport(client, user.userId, webSocket)
      const pull: typeof transport.pull = async (body, options) => {
        const page = await transport.pull(body, options)
        epoch = page.epoch
        return page
      }
      return { ...transport, pull }
    },
    async () => deferred,
    {
      keys: structuredClone(person.keys),
      userId: user.userId,
      deviceId: id,
      store: memoryStore(),
      clock: world.clock(),
      random: Math.random,
    },
  )
  behind.sync.on('error', ({ id }) => behind.errors.push(id))
  return behind
}

/** Makes a response count as same-origin, so that the client can read all headers. */
function asFetched(response: Response): Response {
  return withType(response, 'basic')
}

type Form = keyof typeof forms
const forms = {
  html: ['text/html; charset=utf-8', '<html><head><title>Bad request</title></head></html>'],
  json: ['application/json', '{"message":"Forbidden"}'],
  'the text of an error': ['application/json', '{"error":"Authentication required"}'],
  'no session': ['application/json', '{"authenticated":false,"success":false}'],
  text: ['text/plain; charset=utf-8', 'Nope'],
  empty: ['', ''],
  truncated: ['application/json', '{"error":"Request body too large"}'],
  slow: ['application/json', '{"error":"Request body too large"}'],
} as const
const allForms = Object.keys(forms) as Form[]

function answerOf(status: number, form: Form, retryAfter: string | undefined, signal: AbortSignal): Response {
  // Status 0 stands for a broken connection.
  if (status === 0) throw new TypeError('fetch failed')
  const [type, text] = forms[form]
  const headers = { ...(type && { 'content-type': type }), ...(retryAfter && { 'retry-after': retryAfter }) }
  const hasBody = ![204, 205, 304].includes(status) && form !== 'empty'
  if (!hasBody) return asFetched(new Response(null, { status, headers }))
  if (form !== 'truncated' && form !== 'slow') return asFetched(new Response(text, { status, headers }))
  const half = new TextEncoder().encode(text.slice(0, text.length / 2))
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(half)
      signal.addEventListener('abort', () => controller.error(signal.reason))
    },
    pull(controller) {
      if (form === 'truncated') controller.error(new TypeError('terminated'))
    },
  })
  return asFetched(new Response(body, { status, headers }))
}

const operations = ['push', 'pull', 'refresh', 'status', 'all'] as const
const retryAfters = [undefined, '0', '7', '86400', '999999999999', 'Wed, 21 Oct 2026 07:28:00 GMT'] as const

interface Fault {
  status: number
  form: Form
  operation: (typeof operations)[number]
  retryAfter?: (typeof retryAfters)[number]
  seconds: number
}

let { world } = await people.person(t)
let count = 0

/** Makes edits behind this middlebox, then removes the middlebox. Returns a fault, or undefined if all edits arrived. */
async function meet(
  device: Behind,
  { status, form, operation, retryAfter, seconds }: Fault,
): Promise<string | undefined> {
  const { sync, answers, cookies } = device
  const ids = [0, 1, 2, 3].map((edit) => `e${count}-${edit}`)
  count++
  answers.length = 0
  // A refresh has a real timeout, which would take too long here.
  if (operation === 'refresh' && form === 'slow') return undefined
  if (operation === 'refresh') cookies.service_session = 'gone'
  device.box = ({ url, signal }) =>
    operation === 'all' || new URL(url).pathname.endsWith(`/${operation}`)
      ? answerOf(status, form, retryAfter, signal)
      : undefined
  if (operation === 'all') for (const socket of device.sockets) socket.close(1006)
  await sync.put(ids.slice(0, 3).map((id) => bookmark(id, 'new')))
  await world.pass((seconds * 1000) / 2)
  await sync.put(bookmark(ids[3] as string, 'later'))
  await world.pass((seconds * 1000) / 2)
  const gaps = answers.slice(1).map((at, index) => at - (answers[index] as number))
  device.box = undefined
  // After a slow answer, or one with Retry-After, the device waits before it tries again.
  for (let waits = 0; waits < 90 && sync.status().waiting > 0; waits++) await world.pass(10_000)
  const { state, waiting, quarantined = 0 } = sync.status()
  if (waiting > 0 || quarantined > 0) return `${waiting} wait, ${quarantined} are quarantined, ${state}`
  if (state === 'signed-out') return state
  const nearest = Math.min(...gaps)
  return nearest < 1000 ? `two requests in ${nearest} ms, ${answers.length} in ${seconds} s` : undefined
}

/** Opens a device of a new person, who has no bookmarks that it would have to pull. */
async function startBehind(): Promise<Behind> {
  const person = await people.person(t)
  world = person.world
  const device = openBehind(person, `d${count}`)
  await device.sync.start()
  await until(() => device.sync.status().state === 'online')
  return device
}

/** `fetch` never returns a 1xx status. 0 stands for a broken connection. */
const all = [0, ...Array.from({ length: 400 }, (_, index) => 200 + index)]
/** The statuses that programs treat in a special way. */
const special = [
  200, 204, 302, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 426, 429, 431, 500, 502, 503, 504, 511,
]

/** All statuses with --deep, otherwise the special ones and every twelfth. */
const statuses = isDeep ? all : all.filter((status) => status % 12 === 0 || special.includes(status))

for (const [place, operation] of operations.entries()) {
  t.test(`whatever a middlebox answers to ${operation}, all edits arrive once it is gone`, async (t) => {
    let device = await startBehind()
    const failures: string[] = []
    for (const fault of faultsOf(operation, place)) {
      const wrong = await meet(device, fault)
      if (wrong === undefined) continue
      failures.push(`${fault.status} ${fault.form}, Retry-After ${fault.retryAfter}: ${wrong}`)
      await device.sync.stop()
      device = await startBehind()
    }
    t.same(failures, [])
    t.same(
      device.errors.filter((id) => id !== undefined),
      [],
    )
    await device.sync.stop()
  })
}

/** Each of `statuses` at one operation, and special ones also at pushes. In deep runs, each status at each operation. */
function faultsOf(operation: Fault['operation'], place: number): Fault[] {
  const isTelling = (status: number) => operation === 'push' && special.includes(status)
  const isTried = (status: number) => isDeep || status % operations.length === place || isTelling(status)
  return statuses.filter(isTried).flatMap((status) => {
    const [form = 'html'] = allForms.slice(status % allForms.length)
    const some: Form[] = isTelling(status) ? [form, 'the text of an error', 'no session'] : [form]
    return [...(isDeep ? allForms : new Set(some))].map((form, which): Fault => {
      const retryAfter = retryAfters[(status + which) % retryAfters.length]
      return { status, form, operation, retryAfter, seconds: 30 }
    })
  })
}

const faults = fc.record({
  status: fc.oneof(fc.constantFrom(...special), fc.constantFrom(...all)),
  form: fc.constantFrom(...allForms),
  operation: fc.constantFrom(...operations),
  retryAfter: fc.constantFrom(...retryAfters),
  seconds: fc.integer({ min: 1, max: 200 }),
})

t.test('all edits arrive after any sequence of middleboxes', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(faults, { minLength: 1, maxLength: 4 }), async (several) => {
      const device = await startBehind()
      try {
        for (const fault of several) {
          const wrong = await meet(device, fault)
          if (wrong !== undefined) throw new Error(wrong)
        }
      } finally {
        await device.sync.stop()
      }
    }),
    { numRuns: depth(4, 500) },
  )
  t.pass()
})

/** A refusal by a later version of the service. Without `code`, the page cannot read the header, as behind a proxy. */
function refusal(status: number, error: string, code: string | undefined): Response {
  if (code) return asFetched(Response.json({ error, hint: 'new' }, { status, headers: { 'x-error-code': code } }))
  return withType(Response.json({ error }, { status, headers: unstored }), 'cors')
}

const unstored = { 'cache-control': 'private, no-store' }

for (const isMarked of [true, false]) {
  const marked = isMarked ? 'known by X-Error-Code' : 'known by their sentence, where a page cannot read headers'
  t.test(`refusals by the service itself count: ${marked}`, async (t) => {
    const code = (name: string) => (isMarked ? name : undefined)
    for (const [path, status, error, name, expected] of [
      ['/push', 400, 'changes[0].base must be an integer', 'BadRequest', { quarantined: 1, reason: 'refused' }],
      ['/push', 413, 'Request body too large', 'TooLarge', { quarantined: 1, reason: 'refused' }],
      ['/push', 413, 'Storage quota exceeded', 'QuotaExceeded', { quarantined: 1, reason: 'quota' }],
      ['', 401, 'Invalid or expired session', 'InvalidSession', { state: 'signed-out' }],
      ['', 403, 'Forbidden user', 'ForbiddenUser', { state: 'signed-out' }],
    ] as const) {
      const device = await startBehind()
      device.box = ({ url }) => (new URL(url).pathname.endsWith(path) ? refusal(status, error, code(name)) : undefined)
      await device.sync.put(bookmark(`own${count++}`, 'new'))
      await world.pass(5000)
      t.match(device.sync.status(), { waiting: 1, ...expected }, `${status} ${error}`)
      await device.sync.stop()
    }
  })
}

for (const [what, answer] of [
  ['a code, and no sentence', () => asFetched(foreign({ message: 'Denied by policy' }, 'InvalidRequest'))],
  ['a code, and the status text of HTTP', () => asFetched(foreign({ error: 'Unauthorized' }, 'Unauthorized'))],
  ['an unknown sentence', () => withType(foreign({ error: 'Access denied' }), 'cors')],
  ['a known sentence, where headers can be read', () => asFetched(foreign({ error: 'Invalid or expired session' }))],
  ['a known sentence, in a cacheable response', () => withType(foreign({ error: 'Authentication required' }), 'cors')],
  ['a known sentence, among other fields', () => withType(foreign({ ...required, status: 401 }, '', unstored), 'cors')],
] as [string, () => Response][]) {
  t.test(`a 401 of another product is not believed: ${what}`, async (t) => {
    const device = await startBehind()
    device.box = answer
    await device.sync.put(bookmark(`foreign${count++}`, 'new'))
    await world.pass(10_000)
    t.match(device.sync.status(), { state: 'offline', waiting: 1 })
    device.box = undefined
    await world.pass(60_000)
    t.match(device.sync.status(), { waiting: 0 })
    await device.sync.stop()
  })
}

function foreign(body: object, code = '', headers = {}): Response {
  return Response.json(body, { status: 401, headers: code ? { 'x-error-code': code } : headers })
}

t.test('`{"success": true}` is not believed for operations that return only that', async (t) => {
  const fetch = async () => asFetched(Response.json({ success: true }))
  const client = createClient({ baseUrl: 'http://localhost', deviceId: 'd', fetch })
  const operations = [...answerFields.matchAll(/^([A-Z]+)(\S+) name encrypted-bookmark-sync$/gm)]
  t.ok(operations.some(([, , path]) => path?.endsWith('/logout')))
  for (const [, method = '', path = ''] of operations)
    await t.rejects(client.request(method.toLowerCase() as 'get', path as never, {} as never), OfflineError, path)
})

function withType(response: Response, value: ResponseType): Response {
  return Object.defineProperty(response, 'type', { value })
}

t.test('a cached answer to another push confirms no edit', async (t) => {
  const device = await startBehind()
  const conflicts: unknown[] = []
  device.sync.on('conflict', (event) => conflicts.push(event))
  const kept = { accepted: 1, accepted_ids: ['of-another'], conflicts: [], timestamp: world.time, epoch: 'of-another' }
  device.box = ({ url }) => (url.endsWith('/push') ? asFetched(Response.json(kept)) : undefined)
  const id = `kept${count++}`
  await device.sync.put(bookmark(id, 'mine'))
  await world.pass(5000)
  t.match([device.sync.status(), device.sync.get(id)], [{ state: 'offline', waiting: 1 }, { title: 'mine' }])
  device.box = undefined
  await world.pass(60_000)
  t.match([device.sync.status(), conflicts], [{ waiting: 0 }, []])
  await device.sync.stop()
})

t.test('no call follows a redirect: another server would get what it sends', async (t) => {
  const redirects: string[] = []
  const fetch: SendRequest = async ({ redirect }) => {
    redirects.push(redirect)
    return asFetched(refusal(401, 'Invalid or expired session', 'InvalidSession'))
  }
  await createClient({ baseUrl: 'http://localhost', deviceId: 'd', fetch }).GET('/api/v1/account')
  t.same(redirects, ['manual', 'manual'], 'the refresh follows none either')
})

t.test('an edit or a click ends a Retry-After wait, and then at most one request per second follows', async (t) => {
  for (const [status, seconds, most] of [
    [429, 86_400, 60],
    [503, 999_999_999_999, 60],
  ] as const) {
    const device = await startBehind()
    device.box = () => answerOf(status, 'text', `${seconds}`, new AbortController().signal)
    await device.sync.put(bookmark(`asked${count++}`, 'one'))
    await world.pass(2000)
    const { retryAt = 0 } = device.sync.status()
    t.ok(retryAt > world.time && retryAt <= world.time + most * 1000, 'the device waits at most this long')
    const before = device.answers.length
    for (let edit = 0; edit < 50; edit++) {
      await device.sync.put(bookmark(`asked${count++}`, 'more'))
      await world.pass(100)
    }
    t.ok(device.answers.length - before >= 2, `${device.answers.length - before} attempts in 5 s of edits`)
    const gaps = device.answers.slice(1).map((at, index) => at - (device.answers[index] as number))
    t.ok(Math.min(...gaps) >= 1000, `${Math.min(...gaps)} ms`)
    device.box = undefined
    const asking = device.sync.syncNow()
    await world.pass(2000)
    await asking
    t.match(device.sync.status(), { waiting: 0 })
    await device.sync.stop()
  }
})

t.test(
  'pushes too large for a proxy are sent in parts; a single edit that is too large waits and is retried',
  async (t) => {
    const device = await startBehind()
    const limit = 20_000
    let isLimited = true
    device.box = ({ url }, body) =>
      isLimited && url.endsWith('/push') && body.length > limit
        ? answerOf(413, 'html', undefined, new AbortController().signal)
        : undefined
    const description = 'd'.repeat(40_000)
    const ids = Array.from({ length: 100 }, () => `part${count++}`)
    await device.sync.put([bookmark('large', 'large', { description }), ...ids.map((id) => bookmark(id, 'small'))])
    await world.pass(30_000)
    t.match(device.sync.status(), { state: 'online', waiting: 1, quarantined: 1 })
    t.match(device.sync.quarantined(), [{ id: 'large', reason: 'intercepted', status: 413 }])
    t.notOk(ids.some((id) => device.sync.isWaiting(id)))
    const before = device.answers.length
    await world.pass(3_600_000)
    t.ok(device.answers.length - before <= 8, `${device.answers.length - before} attempts in an hour`)
    isLimited = false
    await world.pass(3_600_000)
    t.match(device.sync.status(), { waiting: 0 })
    await device.sync.stop()
  },
)

for (const [what, date, leastMs] of [
  ['in a far future', () => Date.UTC(9999, 11, 31), 50_000],
  ['soon', isDeep && (() => Date.now() + 40_000), 20_000],
  ['in the past', isDeep && (() => 0), 0],
] as [string, false | (() => number), number][]) {
  if (date === false) continue
  t.test(`a page with 413 that asks to wait until a date ${what} is obeyed for a minute at most`, async (t) => {
    const device = await startBehind()
    const retryAfter = new Date(date()).toUTCString()
    device.box = ({ signal }) => answerOf(413, 'html', retryAfter, signal)
    await device.sync.put(Array.from({ length: 600 }, () => bookmark(`dated${count++}`, 'new')))
    await world.pass(5000)
    const { retryAt = world.time } = device.sync.status()
    const waitMs = retryAt - world.time
    t.ok(waitMs >= leastMs && waitMs <= 60_000, `it waits for ${waitMs} ms`)
    await world.pass(600_000)
    const gaps = device.answers.slice(1).map((at, index) => at - (device.answers[index] as number))
    t.ok(gaps.length >= 9 && Math.min(...gaps) >= 1000, `${gaps.length} more attempts, ${Math.min(...gaps)} ms apart`)
    device.box = undefined
    while (device.sync.status().waiting > 0) await world.pass(10_000)
    t.match(device.sync.status(), { waiting: 0, state: 'online' })
    await device.sync.stop()
  })
}

for (const [what, answerTo] of [
  ['takes too long for the service', () => refusal(408, 'Request timeout', 'RequestTimeout')],
  ['is refused by a firewall', (signal) => answerOf(403, 'html', undefined, signal)],
  ['takes too long for a proxy', isDeep && ((signal) => answerOf(408, 'html', undefined, signal))],
  ['is cut off', isDeep && ((signal) => answerOf(0, 'empty', undefined, signal))],
] as [string, false | ((signal: AbortSignal) => Response)][]) {
  if (answerTo === false) continue
  t.test(`a push that ${what} is sent in parts, and no edit is quarantined`, async (t) => {
    const device = await startBehind()
    const sizes: number[] = []
    let limit = 20_000
    device.box = ({ url, signal }, body) => {
      if (!url.endsWith('/push')) return undefined
      sizes.push(body.length)
      return body.length > limit ? answerTo(signal) : undefined
    }
    const quarantined: unknown[] = []
    device.sync.on('status', (status) => quarantined.push(...(status.quarantined ? [status] : [])))
    const send = (length: number) => device.sync.put(Array.from({ length }, () => bookmark(`slow${count++}`, 'small')))
    await send(300)
    await world.pass(200_000)
    t.match(device.sync.status(), { waiting: 0 })
    limit = Number.POSITIVE_INFINITY
    await world.pass(3_600_000)
    sizes.length = 0
    await send(200)
    await world.pass(5000)
    t.match(device.sync.status(), { waiting: 0 })
    t.ok(Math.max(...sizes) > 20_000, 'later, all edits are tried again')
    t.same(quarantined, [])
    await device.sync.stop()
  })
}

/** How a firewall answers a push with contents that it blocks. */
const interceptions: Record<string, (signal: AbortSignal) => Response> = {
  'a page': (signal) => answerOf(403, 'html', undefined, signal),
  'a page with 200': (signal) => answerOf(200, 'html', undefined, signal),
  'a wait': (signal) => answerOf(503, 'empty', '5', signal),
  'a cut': (signal) => answerOf(0, 'empty', undefined, signal),
  'an end in the middle': (signal) => answerOf(502, 'truncated', undefined, signal),
  "the service's 408": () => refusal(408, 'Request timeout', 'RequestTimeout'),
}

t.test('edits that a firewall blocks do not block others, and arrive once it lets them through', async (t) => {
  const cases = fc.record({
    how: fc.constantFrom(...Object.keys(interceptions)),
    isDisliked: fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }).filter((all) => all.filter(Boolean).length < 5),
    isOneByOne: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ how, isDisliked, isOneByOne }) => {
      const device = await startBehind()
      const edits = isDisliked.map((is) => bookmark(`${is ? 'disliked' : 'liked'}${count++}`, 'new'))
      const [disliked, liked] = [/^d/, /^l/].map((kind) => edits.map(({ id }) => id).filter((id) => kind.test(id)))
      const seen: number[] = []
      device.box = ({ url, signal }, body) => {
        if (!url.endsWith('/push') || !body.includes('"disliked')) return undefined
        seen.push(world.time)
        return interceptions[how]?.(signal)
      }
      for (const edit of isOneByOne ? edits : [edits]) await device.sync.put(edit)
      await world.pass(how === 'a cut' ? 3_600_000 : 600_000)
      assert.deepEqual(
        liked?.filter((id) => device.sync.isWaiting(id)),
        [],
      )
      // The device may be retrying the disliked edits at this moment.
      const isSettled = () => device.sync.quarantined().length === disliked?.length
      for (let waits = 0; waits < 20 && !isSettled(); waits++) await world.pass(5000)
      assert.match(device.sync.status().state, /online|polling/)
      const held = device.sync.quarantined()
      assert.deepEqual(held.map(({ id }) => id).toSorted(), disliked?.toSorted())
      assert.ok(held.every(({ reason }) => reason === 'intercepted'))
      const gaps = seen.slice(1).map((at, index) => at - (seen[index] as number))
      assert.ok(Math.min(...gaps) >= 1000, `two requests in ${Math.min(...gaps)} ms`)
      const later = bookmark(`liked${count++}`, 'later')
      await device.sync.put(later)
      await world.pass(120_000)
      assert.ok(!device.sync.isWaiting(later.id), 'later edits are not blocked either')
      seen.length = 0
      await world.pass(3_600_000)
      assert.ok(seen.length <= 8 * held.length * 4, `${seen.length} attempts in an hour`)
      device.box = undefined
      await world.pass(3_700_000)
      assert.equal(device.sync.status().waiting, 0)
      await device.sync.stop()
    }),
    { numRuns: depth(2, 300) },
  )
  t.pass()
})
