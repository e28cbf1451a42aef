/** A large push on SQLite is written by a thread of its own. */
import { mock } from 'node:test'
import { Worker } from 'node:worker_threads'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import type { Trx } from '../../src/db/database.ts'
import { endLogin } from '../../src/db/logins.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { until } from '../support/until.ts'

const large = 101

t.test('A large push has a thread of its own', async (t) => {
  const app = await buildApp(t)
  const { database } = app.context
  const ada = await app.user('ada')
  const interceptThread = watchThread(t)
  t.match(await push(ada, 'first'), { status: 200, body: { accepted: large } })

  await t.test('One that waited while its login ended is refused', async (t) => {
    const { call, ...login } = await app.user('ada')
    const held = Promise.withResolvers<void>()
    const first = database.write(() => held.promise)
    const ended = database.write((trx) => endLogin(trx, login), login.loginId)
    const { waiting } = database.load()
    const late = push({ call }, 'late')
    await until(() => database.load().waiting > waiting)
    held.resolve()
    await Promise.all([first, ended])
    t.equal((await late).status, 401)
    t.equal((await pullAll(ada)).changes.length, large)
  })

  await t.test('While the disk does not answer it, reads go on, and the service is not ready', async (t) => {
    const held = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    interceptThread('commit', (_, post) => {
      held.resolve()
      void goOn.promise.then(post)
    })
    const pushed = push(ada, 'held')
    await held.promise
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const probe = database.probe()
    mock.timers.tick(30_000)
    await t.rejects(probe)
    t.equal((await pullAll(ada)).changes.length, large)
    goOn.resolve()
    t.equal((await pushed).status, 200)
    await t.resolves(database.probe())
  })

  await t.test('Its end costs that push alone; if it ends again, the service is not ready for a minute', async (t) => {
    const bob = await app.user('bob')
    interceptThread('insert into "records"', (worker) => void worker.terminate())
    const [cut, other] = await Promise.all([push(ada, 'cut'), push(bob, 'other', 1)])
    t.match([cut.status, cut.headers['retry-after'], cut.body], [503, '1', { error: 'Service unavailable' }])
    t.equal(other.status, 200, 'another one, which waited for it')
    t.equal((await pullAll(ada)).changes.length, 2 * large, 'nothing of it is there')
    t.ok(app.log.some((line) => line.includes('the thread of large writes has ended')))
    t.match(await push(ada, 'cut'), { status: 200, body: { accepted: large } }, 'the next one has another thread')
    await t.resolves(database.probe())

    interceptThread('commit', (worker) => void worker.terminate())
    t.equal((await push(ada, 'again')).status, 503)
    await t.rejects(database.probe())
    letMinutePass(t)
    await t.resolves(database.probe())
    t.match(await push(ada, 'again'), { status: 200, body: { accepted: large } })
  })

  await t.test('If the disk is full for it: 503, and the service is not ready', async (t) => {
    const limitPages = (pages: number) => (trx: Trx) => sql`pragma max_page_count = ${sql.lit(pages)}`.execute(trx)
    await database.write(limitPages(1), 'test', true)
    const refused = await push(ada, 'too much')
    t.match([refused.status, refused.headers['retry-after']], [503, '1'])
    await t.rejects(database.probe(), { code: 'SQLITE_FULL' })
    await database.write(limitPages(100_000), 'test', true)
    t.match(await push(ada, 'after'), { status: 200, body: { accepted: large } })
  })
})

async function push({ call }: Pick<TestUser, 'call'>, name: string, count = large) {
  const encrypted_data = 'x'.repeat(1000)
  const changes = Array.from({ length: count }, (_, index) => change({ entity_id: `${name}-${index}`, encrypted_data }))
  return call('POST', '/api/v1/sync/push', { body: { changes } })
}

type Instead = (worker: Worker, post: () => void) => void

/** Does something else with the next statement for the thread that begins so. */
function watchThread(t: Test): (statement: string, instead: Instead) => void {
  const { postMessage } = Worker.prototype
  t.teardown(() => Object.assign(Worker.prototype, { postMessage }))
  let awaited: { statement: string; instead: Instead } | undefined
  Worker.prototype.postMessage = function (this: Worker, order: { sql?: string }) {
    const post = () => postMessage.call(this, order)
    if (!awaited || !order.sql?.startsWith(awaited.statement)) return post()
    const { instead } = awaited
    awaited = undefined
    instead(this, post)
  }
  return (statement, instead) => {
    awaited = { statement, instead }
  }
}

function letMinutePass(t: Test): void {
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  performance.now = () => now.call(performance) + 61_000
}
