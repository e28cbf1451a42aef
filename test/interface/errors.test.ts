import t from 'tap'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { breakDatabase, breakTable, breakWrites, snapshot } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { allOperations } from '../support/operations.ts'

const app = await buildWithMock(t)
const browser = openBrowser(app.call)
await browser.signIn('Ada')

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
    const { status, body } = await browser.call('GET', '/api/v1/sync/status')
    repair()
    t.same([status, body], [500, { error: 'Failed to get sync status', details }])
  }
  t.equal((await browser.call('GET', '/api/v1/sync/status')).status, 200)
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
  Object.assign(context.gate.smallBodies, { take: () => Promise.reject(new Error('a secret')) })
  Object.assign(context.health, { status: fault })
  const cookie = ['session', 'refresh', 'login'].map((name) => `service_${name}=x`).join('; ')
  for (const { id, method, path } of allOperations) {
    const { status, body } = await call(method, path, { headers: { cookie }, ...(method === 'POST' && { body: {} }) })
    t.same([status, body], [500, { error: 'Internal server error' }], id)
  }
  t.equal(log.filter((line) => line.includes('a secret')).length, allOperations.length, 'each is logged with its cause')
})
