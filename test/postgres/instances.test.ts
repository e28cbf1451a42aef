import { sql } from 'kysely'
import t from 'tap'
import { ownerOfLogins } from '../../src/service/db/tables/logins.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { countWaitingForLock, interceptWrites, isWaitingForLock } from '../support/database.ts'
import { pick } from '../support/pick.ts'
import { until } from '../support/until.ts'
import { buildInstances } from './processes.ts'

/** Holds the next transaction of the user and the instance before its commit, until the test releases it. */
function holdCommits({ context: { database } }: TestApp, owner: string) {
  const [begun, committed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  interceptWrites({ database }, owner, (write) =>
    write(async (work) => {
      const result = await work()
      begun.resolve()
      await committed.promise
      return result
    }),
  )
  return { begun: begun.promise, commit: committed.resolve }
}

for (const [title, first, second, statuses] of [
  ['A sign-out on another instance waits for a write that has begun', 'write', 'sign-out', [201, 200]],
  ['A write waits for a sign-out that has begun on another instance, and is refused', 'sign-out', 'write', [200, 401]],
] as const) {
  t.test(title, async (t) => {
    const [one, two] = (await buildInstances(t, 2)) as [TestApp, TestApp]
    const ada = await one.user('ada')
    const body = { encrypted_data: 'x', data_hash: 'h' }
    const requests = {
      write: ({ call }: Pick<TestApp, 'call'>) => call('POST', '/api/v1/bookmarks', { headers: cookie, body }),
      'sign-out': ({ call }: Pick<TestApp, 'call'>) => call('POST', '/api/v1/auth/logout', { headers: cookie }),
    }
    const cookie = { cookie: ada.cookie }
    const { begun, commit } = holdCommits(one, first === 'write' ? ada.userId : ownerOfLogins(ada))
    const answers = [requests[first](one)]
    await begun
    answers.push(requests[second](two))
    await until(() => isWaitingForLock(two.context.database.db))
    commit()
    t.same(pick(await Promise.all(answers), 'status'), statuses)
  })
}

for (const [title, path, count, cookieOf] of [
  ['Sign-outs', 'logout', 13, (own: TestUser, held: TestUser) => `${own.cookie}; ${held.cookie}`],
  ['Refreshes', 'refresh', 12, ({ refresh }: TestUser) => `service_refresh=${refresh}`],
] as const) {
  t.test(`${title} of a user's many logins, all waiting for a lock, leave connections for others`, async (t) => {
    const [one, two] = (await buildInstances(t, 2)) as [TestApp, TestApp]
    const bob = await two.user('bob')
    const logins = await Promise.all(Array.from({ length: count }, () => one.user('ada')))
    // The login with the greatest id: logins are locked in order of their ids, so all others are locked first.
    const held = logins.toSorted((a, b) => (a.loginId < b.loginId ? 1 : -1))[0] as TestUser
    const [holding, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const transaction = one.context.database.db.transaction().execute(async (trx) => {
      const rows = trx.selectFrom('logins').select('id').where('user_id', '=', held.userId).forUpdate()
      await (path === 'logout' ? rows.where('id', '=', held.loginId) : rows).execute()
      holding.resolve()
      await released.promise
    })
    await holding.promise
    const waiting = logins
      .filter((login) => path === 'refresh' || login !== held)
      .map((login) => two.call('POST', `/api/v1/auth/${path}`, { headers: { cookie: cookieOf(login, held) } }))
    const { gate, database } = two.context
    // At most eight sign-outs of a user run at a time. The others are queued.
    const queued = () => database.load().waiting + gate.free.load().waiting
    await until(async () => (await countWaitingForLock(database.db)) + queued() === waiting.length)
    const body = { encrypted_data: 'x', data_hash: 'h' }
    t.equal((await bob.call('POST', '/api/v1/bookmarks', { body })).status, 201)
    released.resolve()
    await transaction
    t.same(new Set(pick(await Promise.all(waiting), 'status')), new Set([200]))
  })
}

t.test('Five instances can start at once on an empty database', async (t) => {
  const { dataDir, close } = await buildApp(t)
  await close()
  const empty = `${dataDir}/empty`
  const apps = await Promise.all(Array.from({ length: 5 }, () => buildApp(t, {}, { dataDir: empty })))
  t.equal(apps.length, 5, 'one instance migrates, the others wait for it')
  const ada = await (apps[0] as TestApp).user('ada')
  t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 200)
})

t.test('Broken connections are replaced, and requests meanwhile get 503', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  const { db } = app.context.database
  for (let round = 0; round < 5; round += 1) {
    const others = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`
    const [, ...answers] = await Promise.all([
      others.execute(db).catch(() => {}),
      ...Array.from({ length: 20 }, () => ada.call('GET', '/api/v1/bookmarks')),
    ])
    for (const { status } of answers) t.ok([200, 503].includes(status), `${status}`)
  }
  // An idle connection may still be closing, so one more request may fail.
  await until(async () => (await ada.call('GET', '/api/v1/bookmarks')).status === 200)
})
