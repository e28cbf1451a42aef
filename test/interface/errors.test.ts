import t from 'tap'
import { buildApp, type CallOptions } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { breakDatabase, breakTable, breakWrites, snapshot } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { allOperations } from '../support/operations.ts'

const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }
const app = await buildWithMock(t)
const browser = openBrowser(app.call)
await browser.signIn('Ada')
const { body: made } = await browser.call('POST', '/api/v1/exports')
await app.context.database.db.updateTable('exports').set({ status: 'failed', lease_until: 0 }).execute()

/** A request as a signed-in user with its status and its whole body, which must be `{error}`. */
async function ask(method: string, path: string, request: CallOptions = {}): Promise<[number, unknown]> {
  const { status, body } = await browser.call(method, path, request)
  return [status, body]
}

const cookie = (value: string) => ({ headers: { cookie: value } })
const rows: [status: number, error: string, condition: string, request: () => Promise<[number, unknown]>][] = [
  [401, 'Authentication required', 'No session cookie', () => ask('GET', '/api/v1/bookmarks', cookie(''))],
  [
    401,
    'Invalid or expired session',
    'Session token invalid or expired',
    () => ask('GET', '/api/v1/bookmarks', cookie(`service_session=${'A'.repeat(43)}`)),
  ],
  [
    401,
    'No refresh token',
    'Refresh called without the refresh cookie',
    () => ask('POST', '/api/v1/auth/refresh', cookie('')),
  ],
  [
    401,
    'Failed to refresh token',
    'Refresh token invalid or expired',
    () => ask('POST', '/api/v1/auth/refresh', cookie(`service_refresh=${'A'.repeat(43)}`)),
  ],
  [
    400,
    'Invalid request body',
    'Bookmark create or update with a bad body',
    () => ask('POST', '/api/v1/bookmarks', { body: {} }),
  ],
  [
    400,
    'Invalid changes format',
    'Push with a bad changes value',
    () => ask('POST', '/api/v1/sync/push', { body: { changes: 1 } }),
  ],
  [
    400,
    'Export not ready for download',
    'Download of an export not completed',
    () => ask('GET', `/api/v1/exports/${made.id}`),
  ],
  [404, 'Bookmark not found', 'Unknown bookmark id', () => ask('GET', '/api/v1/bookmarks/unknown')],
  [404, 'Export not found', 'Unknown export id', () => ask('GET', '/api/v1/exports/unknown')],
  [426, 'WebSocket upgrade required', 'Realtime call without upgrade', () => ask('GET', '/api/v1/sync/realtime')],
]
for (const [status, error, condition, request] of rows) {
  t.test(`${status} | ${error} | ${condition}`, async (t) => {
    t.same(await request(), [status, { error }])
  })
}

t.test('400 | Invalid request body | Bookmark update with a bad body', async (t) => {
  await ask('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content } })
  t.same(await ask('PUT', '/api/v1/bookmarks/b1', { body: { data_hash: 'x' } }), [
    400,
    { error: 'Invalid request body' },
  ])
})

t.test('500 | Failed to initiate login | Error talking to the identity provider', async (t) => {
  const { call } = await buildWithMock(t, {}, (mock) => mock.faults.set('discovery', 'hangup'))
  const { status, body } = await call('POST', '/api/v1/auth/login')
  t.same([status, body], [500, { error: 'Failed to initiate login' }])
})

t.test('500 | Failed to logout | Logout failure', async (t) => {
  for (const breakIt of [breakDatabase, breakWrites]) {
    const before = await snapshot(app.context)
    const repair = breakIt(app.context)
    const { status, body, headers } = await browser.call('POST', '/api/v1/auth/logout')
    repair()
    t.same([status, body], [500, { error: 'Failed to logout' }])
    t.equal(headers['set-cookie'], undefined, 'the cookies stay')
    t.equal(await snapshot(app.context), before)
  }
})

t.test('500 | Failed to get sync status | Status failure; includes details', async (t) => {
  const fault = () => new Error('no such column: secret')
  const faults: [details: string, repair: () => () => void][] = [
    ['The database did not answer', () => breakTable(app.context, 'devices')],
    ['The status could not be read', () => breakTable(app.context, 'devices', fault)],
  ]
  for (const [details, breakIt] of faults) {
    const repair = breakIt()
    const answer = await ask('GET', '/api/v1/sync/status')
    repair()
    t.same(answer, [500, { error: 'Failed to get sync status', details }])
  }
  t.equal((await ask('GET', '/api/v1/sync/status'))[0], 200)
})

t.test('Failures of the callback are redirects to /login?error=<message>.', async (t) => {
  const { status, headers, raw } = await browser.call('GET', '/api/v1/auth/callback?code=x&state=/nowhere')
  t.same([status, raw.length], [302, 0])
  t.match(headers.location, /^\/login\?error=[\w%]+$/)
})

t.test('The session endpoint returns 401 with {authenticated: false} instead of an error body.', async (t) => {
  t.same(await ask('GET', '/api/v1/auth/session', cookie('')), [401, { authenticated: false }])
})

t.test('Other errors are {error: sentence}, with nothing else in the body', async (t) => {
  const others: [status: number, error: string, answer: [number, unknown]][] = [
    [404, 'Not found', await ask('GET', '/nowhere')],
    [404, 'Not found', await ask('GET', '/api/v1')],
    [405, 'Method not allowed', await ask('DELETE', '/api/v1/bookmarks')],
    [403, 'Forbidden origin', await ask('POST', '/api/v1/bookmarks', { headers: { origin: 'https://evil.example' } })],
    [409, 'Bookmark already exists', await ask('POST', '/api/v1/bookmarks', { body: { id: 'b1', ...content } })],
    [413, 'Request body too large', await ask('POST', '/api/v1/bookmarks', { body: 'x'.repeat(1_048_577) })],
    [415, 'Unsupported media type', await ask('POST', '/api/v1/bookmarks', { payload: 'x' })],
    [400, 'page must be an integer from 1 to 1000000', await ask('GET', '/api/v1/bookmarks?page=x')],
  ]
  for (const [status, error, answer] of others) t.same(answer, [status, { error }])
})

t.test('An internal error is 500 without details, and an unreachable database is 503 with Retry-After', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  const request = { headers: { cookie: `${ada.cookie}; service_refresh=${ada.refresh}` } }
  const exceptions: Record<string, [number, unknown]> = {
    completeLogin: [302, undefined],
    logout: [500, { error: 'Failed to logout' }],
  }
  for (const { id, method, path, security } of allOperations) {
    if (security === 'none' && !(id in exceptions)) continue
    for (const [error, status, sentence] of [
      [undefined, 503, 'Service unavailable'],
      [() => new Error('a secret'), 500, 'Internal server error'],
    ] as const) {
      const repair = breakDatabase(app.context, error)
      const { status: answered, body, headers } = await app.call(method, path, request)
      repair()
      t.same([answered, body], exceptions[id] ?? [status, { error: sentence }], id)
      if (answered === 503) t.equal(headers['retry-after'], '1')
    }
  }
})

t.test('An internal error is 500 without details, wherever it occurs', async (t) => {
  const { call, context, log } = await buildApp(t)
  const fault = () => {
    throw new Error('a secret')
  }
  Object.assign(context.limits, { countWrongCookie: fault, checkFailedSignIns: fault })
  Object.assign(context.bodies, { hasRoom: fault })
  Object.assign(context.health, { status: fault })
  const cookie = ['session', 'refresh', 'login'].map((name) => `service_${name}=x`).join('; ')
  for (const { id, method, path } of allOperations) {
    const { status, body } = await call(method, path, { headers: { cookie }, ...(method === 'POST' && { body: {} }) })
    t.same([status, body], [500, { error: 'Internal server error' }], id)
  }
  t.equal(log.filter((line) => line.includes('a secret')).length, allOperations.length, 'each is logged with its cause')
})
