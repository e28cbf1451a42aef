import fc from 'fast-check'
import { keyringOf } from '../../support/keyrings.ts'

/** The time that the clock shows when a script begins. */
export const start = Date.UTC(2026, 10, 21, 8)

export const people = ['ada', 'bob'] as const
export type Person = (typeof people)[number]

/**
 * A request. `(0)`, `(1)` … stand for what the service made at random (side.ts): ada's id and bob's come first. In a
 * body `"(cursor)"` is the last `last_sync_timestamp` that the person got.
 */
export interface Call {
  do: 'call' | 'pull all'
  by: Person
  /** Each person is signed in twice. */
  login: 0 | 1
  cookie: 'session' | 'refresh' | 'both' | 'older' | 'twice' | 'stranger' | 'none'
  method: string
  path: string
  headers?: Record<string, string>
  body?: unknown
  /** The raw text to send instead of `body`. */
  payload?: string
}

export type Step =
  | Call
  | { do: 'sign in'; by: Person; login: 0 | 1 }
  | { do: 'set clock'; ms: number }
  | { do: 'finish exports' }
  | { do: 'sweep' }

/** Steps, or sequences of steps that belong together, with their weights. */
type Choices = [number, fc.Arbitrary<Step | Step[]>][]

/** One line about a step, for the report of a failure. */
export function describeStep(step: Step): string {
  if (step.do === 'sign in') return `${step.by} signs in (login ${step.login})`
  if (step.do === 'set clock') return `the clock shows ${start + step.ms} (${step.ms} ms after the start)`
  if (step.do !== 'call' && step.do !== 'pull all') return step.do
  const { by, login, cookie, method, path, headers = {}, body, payload = JSON.stringify(body) ?? '' } = step
  const credentials = cookie === 'session' ? '' : `, cookie: ${cookie}`
  const all = step.do === 'pull all' ? ' (to the end)' : ''
  return `${by} (login ${login}${credentials}): ${method} ${path} ${JSON.stringify(headers)} ${payload}${all}`
}

const dayMs = 86_400_000
const api = '/api/v1'

/** One of these arbitraries, chosen by the weights. */
function mix<T>(...choices: [number, fc.Arbitrary<T>][]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

/** Few ids, so that they collide. */
const common = fc.constantFrom('a', 'a', 'B', 'b~')
/** Ids that reveal a sort order other than that of bytes. */
const ordered = fc.constantFrom('A', 'b', 'a-b', 'a_b', 'aB', 'ab', 'a b', '~', '_', '-', ' ', '9', '10')
const hostile = fc.constantFrom('%41', 'a/b', 'a?', '#', '"', "'", '\\', 'x'.repeat(128))
const made = fc.constantFrom('(2)', '(3)', '(4)', '(5)')
const ids = mix([10, common], [2, ordered], [2, made], [1, hostile])
const devices = mix([8, fc.constantFrom('laptop', 'Laptop', 'phone', 'unknown')], [1, ordered], [1, hostile])
const eventIds = mix(
  [3, fc.constantFrom('e1', 'e2', 'E1', 'e~', 'e_', '(3)', '(5)')],
  [2, fc.constantFrom(...'fghijklm')],
)
const texts = fc.constantFrom('d1', 'd2', 'D1', "a'b", '\\', '"', '{}', 'null')
const hashes = fc.constantFrom('h1', 'h2', 'H1', 'h~')
const times = mix(
  [12, fc.integer({ min: start - 2, max: start + 3 })],
  [1, fc.constantFrom(0, start - dayMs, start + dayMs, start + dayMs + 1, Number.MAX_SAFE_INTEGER)],
)
/** Cursors near the stamps that the writes of a script get. */
const stamps = mix<unknown>(
  [4, fc.constant('(cursor)')],
  [4, fc.integer({ min: start - 1, max: start + 20 })],
  [1, fc.constantFrom(0, Number.MAX_SAFE_INTEGER)],
)
const seconds = mix<unknown>(
  [8, fc.integer({ min: start / 1000 - 2, max: start / 1000 + 1 })],
  [1, fc.constantFrom(0, start, -1, 1.5, '5', null, start / 1000 + 86_400, start / 1000 + 86_401)],
)

const strange = ['', 'é', 'a\0', '\ud800', '\u007f', 'x'.repeat(129), 'x'.repeat(262_145), '5']
/** Hardly any field accepts these values. If a field does, it must on both sides. */
const odd = fc.constantFrom<unknown>(...strange, null, -1, 1.5, 1e300, 2 ** 53, true, [], {})
const some = (value: fc.Arbitrary<unknown>) => mix<unknown>([20, value], [1, odd])
/** Odd values for parameters in a URL. */
const oddText = fc.constantFrom('', '0', '-1', '01', '1e2', ' 5', '1001', '9'.repeat(30), 'é', '%00', '%')
/** Odd texts of whole bodies. */
const oddPayload = fc.constantFrom('', 'null', '[]', '"x"', '{', '{}', '{"__proto__":{}}', '\ufeff{}', '{}x')

const content = fc.record({ encrypted_data: texts, data_hash: hashes })

const required = ['id', 'entity_type', 'entity_id', 'operation', 'timestamp', 'device_id'] as const
const fieldsOfAnyChange = {
  id: eventIds,
  entity_type: mix([3, fc.constant('bookmark')], [2, fc.constantFrom('history', 'group')]),
  entity_id: ids,
  timestamp: times,
  device_id: devices,
  base: stamps,
  user_id: mix([9, fc.constant('(0)')], [1, fc.constantFrom('(1)', '')]),
}
const written = fc.record(
  {
    ...fieldsOfAnyChange,
    operation: fc.constantFrom('create', 'update'),
    encrypted_data: mix([40, texts], [1, fc.constant('x'.repeat(262_144))]),
    data_hash: hashes,
  },
  { requiredKeys: [...required, 'encrypted_data', 'data_hash'] },
)
const deleted = fc.record(
  { ...fieldsOfAnyChange, operation: fc.constant('delete'), encrypted_data: texts, data_hash: hashes },
  { requiredKeys: [...required] },
)
const change = mix<object>([3, written], [1, deleted])

const importBookmark = fc.record(
  {
    id: fc.oneof(common, ordered),
    encrypted_data: texts,
    data_hash: hashes,
    date_added: seconds,
    date_modified: seconds,
  },
  { requiredKeys: ['id', 'encrypted_data', 'data_hash'] },
)

/** The same object with one field odd or missing. */
function broken(element: fc.Arbitrary<object>): fc.Arbitrary<object> {
  return fc.tuple(element, fc.nat(), fc.option(odd, { nil: undefined })).map(([fields, index, value]) => {
    const names = Object.keys(fields)
    return { ...fields, [names[index % names.length] as string]: value }
  })
}

type Request = Pick<Call, 'method' | 'path'> & Partial<Call>

/** Mostly ada, so that devices of one person meet. */
const by = mix<Call['by']>([5, fc.constant('ada')], [1, fc.constant('bob')])
const login = mix<Call['login']>([2, fc.constant(0)], [1, fc.constant(1)])
const cookie = mix<Call['cookie']>(
  [20, fc.constant('session')],
  [1, fc.constantFrom('both', 'older', 'twice', 'stranger', 'refresh', 'none')],
)
const device = fc.option(devices, { nil: undefined })

/** An id as a path segment. */
const id = mix([20, ids.map(encodeURIComponent)], [1, fc.constantFrom('%', '%00', 'x'.repeat(129), '%C3%A9', '')])

/** The request by any person, from any device. */
function calls(request: fc.Arbitrary<Request>): fc.Arbitrary<Step> {
  return fc.record({ by, login, cookie, device, request }).map(({ device, request, ...who }) => ({
    do: 'call' as const,
    ...who,
    ...request,
    headers: { ...(device !== undefined && { 'x-device-id': device }), ...request.headers },
  }))
}

function get(path: fc.Arbitrary<string> | string): fc.Arbitrary<Step> {
  return calls(arbitrary(path).map((path) => ({ method: 'GET', path })))
}

function send(method: string, path: fc.Arbitrary<string> | string, body?: fc.Arbitrary<unknown>) {
  const requests = fc.record({ method: fc.constant(method), path: arbitrary(path) })
  if (!body) return calls(requests)
  const withBody = fc.tuple(requests, body).map(([request, body]) => ({ ...request, body }))
  const withPayload = fc.tuple(requests, oddPayload).map(([request, payload]) => ({ ...request, payload }))
  return calls(mix<Request>([15, withBody], [1, withPayload]))
}

function arbitrary(path: fc.Arbitrary<string> | string): fc.Arbitrary<string> {
  return typeof path === 'string' ? fc.constant(path) : path
}

/** A query string with any of these parameters, or none. */
function query(parameters: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<string> {
  return fc.record(parameters, { requiredKeys: [] }).map((values) => {
    const pairs = Object.entries(values).map(([name, value]) => `${name}=${value}`)
    return pairs.length === 0 ? '' : `?${pairs.join('&')}`
  })
}

const pathOfBookmark = id.map((id) => `${api}/bookmarks/${id}`)
const paged = query({
  limit: mix<unknown>([8, fc.constantFrom(1, 2, 3)], [1, oddText]),
  after: mix<unknown>(
    [6, fc.integer({ min: start - 1, max: start + 20 })],
    [1, ids.map(encodeURIComponent)],
    [1, oddText],
  ),
})
/** A request for a list that comes in pages. */
const listed = (path: fc.Arbitrary<string> | string) =>
  get(fc.tuple(typeof path === 'string' ? fc.constant(path) : path, paged).map((parts) => parts.join('')))
const restored = mix<object>([2, fc.constant({})], [3, fc.record({ version_id: some(eventIds) })])
const cursor = fc.tuple(fc.constantFrom('bookmark', 'group', 'history', 'x'), ids).map((parts) => parts.join('/'))
const rewound = fc.record(
  { to: some(stamps), dry_run: some(fc.boolean()), cursor },
  { requiredKeys: ['to', 'dry_run'] },
)
const deletion = send('DELETE', pathOfBookmark)
const history: Choices = [
  [4, listed(pathOfBookmark.map((path) => `${path}/versions`))],
  [
    5,
    send(
      'POST',
      pathOfBookmark.map((path) => `${path}/restore`),
      restored,
    ),
  ],
  [3, listed(`${api}/trash`)],
  [2, fc.tuple(deletion, listed(`${api}/trash`))],
  [
    2,
    send(
      'DELETE',
      id.map((id) => `${api}/trash/${id}`),
    ),
  ],
  [3, listed(`${api}/sync/conflicts`)],
  [
    2,
    send(
      'DELETE',
      mix([5, eventIds], [1, id]).map((id) => `${api}/sync/conflicts/${id}`),
    ),
  ],
  [3, send('POST', `${api}/sync/rewind`, rewound)],
]

const list = (element: fc.Arbitrary<object>) => fc.array(element, { maxLength: 6, size: 'max' })

const page = query({
  page: mix<unknown>([8, fc.constantFrom(1, 1, 2, 3)], [1, oddText], [1, fc.constantFrom(1_000_000, 1_000_001)]),
  limit: mix<unknown>([8, fc.constantFrom(1, 2, 3, 4)], [1, oddText], [1, fc.constantFrom(1000, 1001)]),
})
const contents = mix<object>([10, content], [1, broken(content)])
const named = fc.tuple(some(ids), content).map(([id, content]) => ({ id, ...content }))
const bookmarks: Choices = [
  [4, get(page.map((page) => `${api}/bookmarks${page}`))],
  [2, get(pathOfBookmark)],
  [5, send('POST', `${api}/bookmarks`, mix<object>([3, contents], [7, named]))],
  [3, send('PUT', pathOfBookmark, contents)],
  [2, send('DELETE', pathOfBookmark)],
]

const changes = mix([12, list(change)], [1, list(mix([1, change], [1, broken(change)]))])
const push = send('POST', `${api}/sync/push`, fc.record({ changes }))
const imported = list(mix<object>([12, importBookmark], [1, broken(importBookmark)]))
const importing = send('POST', `${api}/sync/import`, fc.record({ bookmarks: imported }))
const limit = some(fc.constantFrom(1, 2, 3, 10_000))
const entity_types = fc.subarray(['bookmark', 'history', 'group', 'star'])
const pull = send(
  'POST',
  `${api}/sync/pull`,
  fc.record({ since: some(stamps), limit, entity_types }, { requiredKeys: [] }),
)
const pullAll = calls(
  fc.constantFrom(1, 2, 3).map((limit) => ({
    do: 'pull all',
    method: 'POST',
    path: `${api}/sync/pull`,
    body: { since: '(cursor)', limit, ...(limit === 3 && { entity_types: ['bookmark', 'history'] }) },
  })),
)
const sync: Choices = [
  [3, get(`${api}/sync/status`)],
  [1, get(`${api}/sync/status?entity_types=group,history`)],
  [4, pull],
  [2, pullAll],
  [8, push],
  [3, importing],
]

/** Times around the end of sessions and exports, and around the retention periods that sweeps apply. */
const moments = [0, 60_000, ...[1, 7, 30, 90, 400].map((days) => days * dayMs)]
const around = (moments: number[]) =>
  fc
    .tuple(fc.constantFrom(...moments), fc.constantFrom(-1, 0, 1))
    .map(([moment, more]): Step => ({ do: 'set clock', ms: moment + more }))
const setClock = around(moments)
const signIn = fc.record({ do: fc.constant('sign in' as const), by, login })

const exportId = mix([8, fc.constantFrom('(2)', '(2)', '(3)', '(4)')], [1, id])
const pathOfExport = exportId.map((id) => `${api}/exports/${id}`)
const range = fc.constantFrom('bytes=0-31', 'bytes=5-', 'bytes=-7', 'bytes=100000-', 'bytes=9-2', 'x')
const ranged = fc.tuple(pathOfExport, range).map(([path, range]) => ({ method: 'GET', path, headers: { range } }))
const createExport = send('POST', `${api}/exports`)
const listExports = get(`${api}/exports`)
const finishExports = fc.constant<Step>({ do: 'finish exports' })
const exports: Choices = [
  [2, createExport],
  [2, finishExports],
  [2, fc.tuple(createExport, finishExports)],
  [1, fc.tuple(createExport, createExport, createExport, createExport)],
  [2, listExports],
  [2, fc.tuple(around([7 * dayMs]), signIn, listExports, around([0]))],
  [4, get(pathOfExport)],
  [1, calls(ranged)],
  [1, send('DELETE', pathOfExport)],
  [1, get(exportId.map((id) => `${api}/account/export-key?export=${id}`))],
]

const keyring = some(fc.constantFrom('junk', keyringOf('k1'), keyringOf("k'2"), keyringOf('~'.repeat(15_000))))
const revision = some(fc.constantFrom(1, 1, 2, 3))
const key = some(fc.constantFrom('A', 'B', 'z').map((letter) => `${letter.repeat(42)}A=`))
const account: Choices = [
  [1, get(`${api}/account/keyring`)],
  [4, send('PUT', `${api}/account/keyring`, fc.record({ keyring, revision }))],
  [1, get(`${api}/account/export-key`)],
  [1, send('PUT', `${api}/account/export-key`, fc.record({ key }))],
  [1, get(`${api}/account`)],
  [2, listed(`${api}/account/devices`)],
  [
    1,
    send(
      'PUT',
      devices.map((id) => `${api}/account/devices/${encodeURIComponent(id)}`),
      fc.record({ encrypted_name: some(fc.constantFrom('AbCd', 'Zm9v', null)) }),
    ),
  ],
  [
    1,
    send(
      'DELETE',
      devices.map((id) => `${api}/account/devices/${encodeURIComponent(id)}`),
    ),
  ],
]

const refresh = fc
  .constantFrom('refresh' as const, 'both' as const)
  .map((cookie) => ({ method: 'POST', path: `${api}/auth/refresh`, cookie }))
const auth: Choices = [
  [2, get(`${api}/auth/session`)],
  [2, calls(refresh)],
  [1, send('POST', `${api}/auth/logout`)],
  [1, send('DELETE', `${api}/account/sessions`)],
  [1, signIn],
]

const sweep = fc.constant<Step>({ do: 'sweep' })
const time: Choices = [
  [2, setClock],
  [2, fc.tuple(setClock, signIn)],
  [2, fc.tuple(setClock, sweep)],
]

const themes = [
  [...bookmarks, ...sync, ...exports, ...account, ...auth, ...time],
  [...bookmarks, ...sync],
  [...history, ...bookmarks, ...sync],
  [...history, ...sync, ...time],
  [...sync, ...time],
  [...bookmarks, ...exports, ...account],
  [...exports, ...exports, ...sync, ...time],
  [...bookmarks, ...auth, ...time],
]
const beginning = fc.array(mix([1, push], [1, importing]), { maxLength: 2 })
const middle = themes.map((choices) => fc.array(mix(...choices), { minLength: 1, maxLength: 12, size: 'max' }))

/** Two people with several devices each. After the first writes, a script stays in one part of the service. */
export const script: fc.Arbitrary<Step[]> = fc.tuple(beginning, fc.oneof(...middle)).map((parts) => parts.flat(2))
