import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { quotas } from '../../generated/limits.ts'
import { beginDeletion, deleteUser } from '../../src/service/db/tables/deletions.ts'
import { furnish } from '../hostile/requests.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { change } from '../support/changes.ts'
import { setCookies } from '../support/cookies.ts'
import { snapshot } from '../support/database.ts'
import { isPostgres } from '../support/database-url.ts'
import { createdExport } from '../support/exports.ts'
import { holdIntervals } from '../support/intervals.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { sweepAccounts } from '../support/sweeps.ts'
import { until } from '../support/until.ts'

const path = '/api/v1/account'

// Without intervals, because the sweep of pairings goes by the clock, which tests set.
holdIntervals(t)
const app = await buildWithMock(t, { MAX_USER_BYTES: '5000', KEEP_VERSIONS_DAYS: '7' })
/** A second instance of the service on Postgres; SQLite allows only one. */
const there = isPostgres ? await buildApp(t, {}, { dataDir: app.dataDir }) : app
const { context, dataDir, setClock } = app
const { database, objects } = context
const origin = await there.listen()
const invalid = { error: 'Invalid or expired session' }

/** The number of the user's rows in each table that has such rows. */
async function rowsOf(userId: string): Promise<Record<string, number>> {
  const tables = await database.db.introspection.getTables()
  const counts: Record<string, number> = {}
  for (const { name, columns } of tables) {
    const column = name === 'users' ? 'id' : 'user_id'
    if (!columns.some((it) => it.name === column)) continue
    const { rows } = await sql`select 1 from ${sql.table(name)} where ${sql.ref(column)} = ${userId}`.execute(
      database.db,
    )
    if (rows.length > 0) counts[name] = rows.length
  }
  return counts
}

const isErased = async (userId: string) => Object.keys(await rowsOf(userId)).join() === 'deletions,users'

t.test("The account shows the user's profile, usage and limits", async (t) => {
  const ada = await app.user('ada')
  const { user } = (await ada.call('GET', '/api/v1/auth/session')).body
  const nothing = { bytes: 0, records: 0, version_bytes: 0, export_bytes: 0, devices: 0 }
  const empty = await ada.call('GET', path)
  t.match(empty.body, { user, usage: nothing })
  t.match(empty.body.limits, {
    stored_bytes: 5000,
    version_days: 7,
    versions_of_record: quotas.versionsOfRecord,
    requests_per_minute: app.context.config.rateLimitPerMinute,
    push_changes: 500,
    batch_body_bytes: 4 * 1024 * 1024,
    body_bytes: 1024 * 1024,
  })

  const push = (encrypted_data: string, timestamp: number) => {
    const changes = [change({ entity_id: 'a', encrypted_data, timestamp })]
    return ada.call('POST', '/api/v1/sync/push', { headers: { 'x-device-id': 'phone' }, body: { changes } })
  }
  await push('x'.repeat(30), 1)
  await push('y'.repeat(12), 2)
  const { size_bytes } = await createdExport(ada)
  const { body } = await ada.call('GET', path)
  t.same(body.usage, {
    bytes: 42 + 2 * quotas.rowBytes,
    records: 1,
    version_bytes: 30 + quotas.rowBytes,
    export_bytes: size_bytes,
    devices: 1,
  })
})

t.test("Rows that a write adds at the last moment are erased with the user's row", async (t) => {
  const eve = await app.user('eve')
  for (const timestamp of [1, 2]) {
    const changes = [change({ entity_id: 'a', timestamp })]
    await eve.call('POST', '/api/v1/sync/push', { body: { changes } })
  }
  t.match(await rowsOf(eve.userId), { records: 1, ciphertexts: 1, versions: 1 })
  await database.write((trx) => beginDeletion(trx, eve.userId, Date.now()))
  await database.write((trx) => deleteUser(trx, eve.userId))
  t.same(await rowsOf(eve.userId), {})
})

t.test('A deletion empties all columns of the user but those that say nothing about the person', async (t) => {
  const eve = await app.user('eve whose row is read')
  await database.write((trx) => beginDeletion(trx, eve.userId, Date.now()))
  const row = await database.db.selectFrom('users').selectAll().where('id', '=', eve.userId).executeTakeFirstOrThrow()
  const emptied = ['issuer', 'email', 'name', 'avatar_url', 'email_verified', 'export_key_sealed'] as const
  for (const column of emptied) t.notOk(row[column], column)
  t.equal(row.subject, eve.userId)
  const times = ['created_at', 'disabled_at', 'export_key_set_at', 'old_purges_since']
  const counters = ['live_bookmarks', 'stored_bytes', 'version_bytes', 'stored_records', 'empty_tombstones']
  const others = ['empty_tombstones_after', 'last_sequence', 'max_bytes', 'old_purges', 'own_epoch', 'stored_versions']
  const digests = ['digest', 'history_digest', 'group_digest']
  t.same(
    Object.keys(row).sort(),
    [...emptied, 'id', 'subject', ...times, ...counters, ...others, ...digests].sort(),
    'another column is emptied by beginDeletion, or belongs to one of these lists',
  )
})

t.test('Deleting an account signs it out everywhere, erases all of it, and affects no other user', async (t) => {
  t.teardown(() => setClock(undefined))
  const [ada, phone, bob] = [await app.user('ada'), await app.user('ada'), await app.user('bob')]
  const [hers, his] = [await furnish(ada, 'ada'), await furnish(bob, 'bob')]
  const socket = await openDevice(t, origin, phone)
  const before = await rowsOf(bob.userId)
  t.same(Object.keys(await rowsOf(ada.userId)), Object.keys(before))
  const stored = async () => (await Array.fromAsync(objects.list())).length
  const files = await stored()

  const answer = await ada.call('DELETE', path)
  t.same(
    [answer.status, setCookies(answer).map(({ name, value }) => [name, value])],
    [
      200,
      [
        ['service_session', ''],
        ['service_refresh', ''],
      ],
    ],
  )
  t.equal(await socket.closeCode, 4401)
  for (const user of [ada, phone, there.as(ada), there.as(phone)]) {
    const { status, body } = await user.call('GET', `/api/v1/exports/${hers.export}`)
    t.same([status, body], [401, invalid])
  }
  const headers = { cookie: `service_refresh=${phone.refresh}` }
  t.equal((await there.call('POST', '/api/v1/auth/refresh', { headers })).status, 401)

  const again = await app.user('ada')
  t.not(again.userId, ada.userId, 'the same person gets a new account')
  t.equal((await again.call('GET', path)).body.usage.records, 0)
  await until(() => isErased(ada.userId))
  setClock(Date.now() + 11 * 60_000)
  await sweepAccounts(context)
  t.same(await rowsOf(ada.userId), {})
  t.ok((await stored()) < files)
  t.same(await rowsOf(bob.userId), before)
  t.equal((await bob.call('GET', `/api/v1/exports/${his.export}`)).status, 200)
  if (isPostgres) return
  const database = [join(dataDir, 'bookmarks.db'), join(dataDir, 'bookmarks.db-wal')]
  const bytes = (await Promise.all(database.map((file) => readFile(file, 'latin1').catch(() => '')))).join('')
  const secrets = (name: string) =>
    ['ciphertext', 'keyring', 'hash'].map((what) => bytes.includes(`${what}-of-${name}`))
  t.same(
    [secrets('ada'), secrets('bob')],
    [
      [false, false, false],
      [true, true, true],
    ],
  )
})

t.test('Deleting the account needs a sign-in of the last 10 minutes, and revokes its provider token', async (t) => {
  t.teardown(() => setClock(undefined))
  const browser = openBrowser(app.call)
  await browser.signIn('Grace')
  const { user_id: userId } = (await browser.call('GET', '/api/v1/auth/session')).body.user
  setClock(Date.now() + 10 * 60_000 + 1000)
  const before = await snapshot(context)
  const { status, body } = await browser.call('DELETE', path)
  t.same([status, body], [403, { error: 'Sign in again' }])
  t.equal(await snapshot(context), before)
  setClock(undefined)
  await browser.signIn('Grace')
  t.equal((await browser.call('DELETE', path)).status, 200)
  await until(() => isErased(userId))
  await until(() => app.mock.requests.filter(({ endpoint }) => endpoint === 'revoke').length === 1)
  await browser.signIn('Grace')
  t.not((await browser.call('GET', '/api/v1/auth/session')).body.user.user_id, userId)
})

t.test('An interrupted erasure continues at the next sweep', async (t) => {
  const eve = await app.user('eve')
  await furnish(eve, 'eve')
  const { remove } = objects
  t.teardown(() => Object.assign(objects, { remove }))
  objects.remove = async () => {
    throw new Error('the store is away')
  }
  t.equal((await eve.call('DELETE', path)).status, 200)
  await until(() => app.log.some((line) => line.includes('a deleted account could not be erased')))
  await t.rejects(sweepAccounts(context), { removed: 0, message: 'deleted accounts that could not be erased: 1' })
  Object.assign(objects, { remove })
  t.same(await rowsOf(eve.userId), { deletions: 1, exports: 1, users: 1 })
  await sweepAccounts(context)
  t.ok(await isErased(eve.userId))
})

t.test('A write or sign-in during a deletion happens before it, or is refused, or gets a new account', async (t) => {
  for (let n = 0; n < 5; n++) {
    const leaving = await app.user('leaving')
    const content = { encrypted_data: 'x', data_hash: 'h' }
    const [deleted, written, other] = await Promise.all([
      leaving.call('DELETE', path),
      there.as(leaving).call('POST', '/api/v1/bookmarks', { body: content }),
      there.user('leaving').catch((error: Error) => error),
    ])
    t.equal(deleted.status, 200)
    t.ok([201, 401].includes(written.status), `${written.status}`)
    await until(() => isErased(leaving.userId))
    if (other instanceof Error) t.match(other, /could not be signed in/, 'the sign-in was ended at once')
    else t.equal((await other.call('GET', path)).status, other.userId === leaving.userId ? 401 : 200)
  }
})
