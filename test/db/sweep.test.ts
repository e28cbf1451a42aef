import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mock } from 'node:test'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../../src/service/db/engine/database.ts'
import type { LoginKey } from '../../src/service/db/tables/logins.ts'
import { createMetrics } from '../../src/service/operating/metrics.ts'
import { startSweeps } from '../../src/service/upkeep/sweeps.ts'
import { UnfinishedSweep } from '../../src/service/upkeep/unfinished-sweep.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { countRows, diskError } from '../support/database.ts'
import { holdIntervals } from '../support/intervals.ts'
import { announceOrphans, sweepExports, sweepRows, sweepVersions } from '../support/sweeps.ts'
import { until } from '../support/until.ts'
import { onPrepare, stepsOf } from './fixture.ts'

const dayMs = 86_400_000

t.test('The hourly sweep erases expired tokens, ended logins, and old devices', async (t) => {
  const { user, context, setClock } = await buildApp(t)
  const { database } = context
  const start = Date.now()
  const count = async (table: 'tokens' | 'logins' | 'used_nonces' | 'devices' | 'users' | 'records') => {
    const query = database.db.selectFrom(table).select(({ fn }) => fn.countAll<number>().as('count'))
    return (await query.executeTakeFirstOrThrow()).count
  }
  const sweepAfter = async (days: number) => {
    await sweepRows(database, start + days * dayMs)
    return { tokens: await count('tokens'), logins: await count('logins') }
  }

  setClock(start)
  const ada = await user('ada')
  await push(ada, change({ entity_id: 'x', timestamp: start }))
  const loser = change({ entity_id: 'x', timestamp: start - 1, device_id: 'device-b' })
  await push(ada, loser)
  await pullAll(ada, { headers: { 'x-device-id': 'device-c' } })
  t.equal(await count('devices'), 3)

  t.same(await sweepAfter(0), { tokens: 2, logins: 1 }, 'valid tokens and logins stay')
  t.same(await sweepAfter(7), { tokens: 1, logins: 1 }, 'a session token expires after 7 days, its login does not')
  t.equal(await count('used_nonces'), 0, 'a nonce is erased with its sign-in attempt')
  setClock(start + 8 * dayMs)
  const bob = await user('bob')
  t.same(await sweepAfter(30), { tokens: 1, logins: 1 }, 'after 30 days the refresh token and the login expire')
  t.equal(await count('users'), 2, 'its user stays')
  t.same(await database.db.selectFrom('logins').select('user_id').execute(), [{ user_id: bob.userId }])

  await sweepAfter(400)
  t.equal(await count('devices'), 3, 'devices are kept for 400 days without a sync')
  await sweepRows(database, start + 400 * dayMs + 1)
  t.equal(await count('devices'), 0)
  t.equal(await count('records'), 1, 'bookmarks always stay')
})

t.test("If one user's versions cannot be swept, those of other users still are", async (t) => {
  const { user, context, log } = await buildApp(t)
  const { database } = context
  const people = [await user('ada'), await user('bob')]
  for (const { call } of people)
    for (const timestamp of [1, 2])
      await call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: 'x', timestamp })] } })
  const owners = async () =>
    (await database.db.selectFrom('versions').select('user_id').execute()).map((row) => row.user_id)
  t.equal((await owners()).length, 2)

  const [first, second] = people.map(({ userId }) => userId).toSorted()
  let writes = 0
  const write: Database['write'] = async (work, owner) => {
    if (writes++ === 0) throw diskError()
    return database.write(work, owner)
  }
  const inAMonth = Date.now() + 31 * dayMs
  await t.rejects(sweepVersions({ ...context, database: { ...database, write } }, inAMonth), UnfinishedSweep)
  t.same(await owners(), [first], `no version of ${second} is left`)
  t.match(log.join(''), `"user":"${first}"`)
  await sweepVersions(context, inAMonth)
  t.same(await owners(), [])
})

t.test('The sweep runs at the start', async (t) => {
  const first = await buildApp(t)
  first.setClock(Date.now() - 31 * dayMs)
  await first.user('ada')
  await first.close()
  const { context } = await buildApp(t, {}, { dataDir: first.dataDir })
  const left = async () => (await context.database.db.selectFrom('logins').selectAll().execute()).length
  while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  t.equal(await left(), 0)
})

t.test('The sweep then runs hourly', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { context, user, setClock } = await buildApp(t)
  const left = async () => (await context.database.db.selectFrom('logins').selectAll().execute()).length
  for (let days = 31; days <= 62; days += 31) {
    await user('ada')
    const now = Date.now() + days * dayMs
    setClock(now)
    // Otherwise the clock guard would see a jump and not believe the clock.
    await context.database.db.updateTable('heartbeat').set({ believed_at: now }).execute()
    mock.timers.tick(3_600_000)
    while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  t.equal(await left(), 0)
})

t.test('Many rows are erased in batches of 500, one per transaction, so users’ writes run in between', async (t) => {
  holdIntervals(t)
  const { user, context } = await buildApp(t)
  const { database } = context
  const ada = await user('ada')
  await seedTokens(database, ada, 1200)
  const events: string[] = []
  const asked = Promise.withResolvers<void>()
  let pushed: Promise<unknown> | undefined
  const { write } = database
  database.write = async (work, owner) => {
    if (owner === ada.userId) {
      const written = write(work, owner)
      asked.resolve()
      return written.finally(() => events.push('a write of hers'))
    }
    const result = await write(work, owner)
    events.push(String((await expiredTokens(database)).length))
    pushed ??= push(ada, change({ entity_id: 'x' }))
    await asked.promise
    return result
  }
  await sweepRows(database, Date.now())
  await pushed
  const steps = ['700', 'a write of hers', '200', '0']
  t.same(events.slice(0, steps.length), steps, 'expired tokens left after each transaction of the sweep')
  t.equal((await ada.call('GET', '/api/v1/auth/session')).status, 200, 'her login stays valid')
})

t.test('The sweep finds the rows to erase by an index', async (t) => {
  const statements: string[] = []
  onPrepare(t, (sql) => statements.push(sql))
  const { user, context, dataDir } = await buildApp(t)
  await seedTokens(context.database, await user('ada'), 1)
  await sweepRows(context.database, Date.now())
  await sweepExports(context)

  const sqlite = new Sqlite(join(dataDir, 'bookmarks.db'), { readonly: true })
  t.teardown(() => sqlite.close())
  const removing = statements.filter((statement) => /^delete | offset /.test(statement))
  const ways = [...new Set(stepsOf(sqlite, removing))]
  t.same(
    ways.filter((way) => way.startsWith('SCAN')),
    [],
  )
  t.same(
    ways.flatMap((way) => /(?<=INDEX )\w+ \(\w+<\?\)/.exec(way) ?? []),
    [
      'tokens_expiry (expires_at<?)',
      'devices_last_sync (last_sync<?)',
      'keyring_versions_replaced_at (replaced_at<?)',
      'pairings_expiry (expires_at<?)',
      'used_nonces_expiry (expires_at<?)',
      'exports_expiry (expires_at<?)',
    ],
    'the oldest first',
  )
})

t.test('A sweep that fails does not stop the others, and the log names it', async (t) => {
  const first = await buildApp(t)
  const ada = await first.user('ada')
  const start = Date.now()
  await push(ada, change({ entity_id: 'x', timestamp: start }))
  const loser = change({ entity_id: 'x', timestamp: start - 1, device_id: 'device-b' })
  await push(ada, loser)
  const { db } = first.context.database
  await sql`create trigger t before delete on devices begin select raise(abort, 'not today'); end`.execute(db)
  const orphan = join(first.dataDir, 'exports', `${ada.userId}.${uuidv7()}.1`)
  await writeFile(orphan, '')

  const parts = { ...first.context, clock: () => start + 401 * dayMs }
  const metrics = createMetrics()
  await announceOrphans(first.context.database)
  const sweeps = startSweeps({ ...parts, metrics })
  t.teardown(() => sweeps.close())
  await until(() => !existsSync(orphan))
  await sweeps.close()
  const { tokens, logins, devices } = await countRows(first.context)
  t.same([tokens, logins, devices], [undefined, undefined, 2])
  const errors = first.log.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50)
  t.match(errors, [{ msg: 'a sweep failed', sweep: 'devices', err: { message: 'not today' } }])
  t.equal(errors.length, 1)
  const { scrape } = openAdmin(t, { context: { ...first.context, metrics } })
  const exposed = await scrape()
  t.match(exposed.byLabel('ebs_swept_total'), { tokens: 2, orphans: 1, 'expired exports': 0 })
  t.match(exposed.byLabel('ebs_sweep_failures_total'), { tokens: 0, devices: 1 })
})

async function seedTokens(database: Database, { userId, loginId }: LoginKey, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, index) => ({ hash: `expired-${index}`, expires_at: index }))
  await database.write(async (trx) => {
    for (const row of rows)
      await trx
        .insertInto('tokens')
        .values({ ...row, kind: 'session', user_id: userId, login_id: loginId, issued_at: 0 })
        .execute()
  })
}

async function expiredTokens({ db }: Database) {
  return db.selectFrom('tokens').select('hash').where('expires_at', '<', 10_000).execute()
}
