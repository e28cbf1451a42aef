import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { endLogin, findAliveLogins } from '../../src/service/db/tables/logins.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { until } from '../support/until.ts'
import { onPrepare, stepsOf } from './fixture.ts'

const large = /\b(records|ciphertexts|versions)\b/
const device = { headers: { 'x-device-id': 'device-b' } }
const push = (user: TestUser, ...changes: object[]) =>
  user.call('POST', '/api/v1/sync/push', { body: { changes }, ...device })

/** How SQLite finds rows of the large tables, without duplicates. "index of" means that it reads the index only. */
function waysToRows(sqlite: Sqlite.Database, statements: string[]): string[] {
  const steps = stepsOf(
    sqlite,
    statements.filter((sql) => large.test(sql)),
  )
  const ways = steps
    .filter((step) => large.test(step))
    .map((step) => step.replace(/^SEARCH (\w+) USING INDEX \w+/, '$1'))
    .map((step) => step.replace(/^SEARCH (\w+) (?:EXISTS )?USING COVERING INDEX \w+/, 'index of $1'))
  return [...new Set(ways)].sort()
}

t.test('Push, pull and status find the rows that they need by an index, and read no others', async (t) => {
  const statements: string[] = []
  onPrepare(t, (sql) => statements.push(sql))
  const { user, dataDir } = await buildApp(t)
  // The sweep after the start ends with two queries for old exports.
  await until(() => statements.filter((statement) => / offset /.test(statement)).length >= 2)
  const ada = await user('ada')
  const sqlite = new Sqlite(join(dataDir, 'bookmarks.db'), { readonly: true })
  t.teardown(() => sqlite.close())
  const during = async (work: () => Promise<unknown>) => {
    statements.length = 0
    await work()
    return waysToRows(sqlite, [...statements])
  }
  const edit = (timestamp: number, device_id: string, operation: 'update' | 'delete' = 'update') =>
    push(ada, change({ entity_id: 'x', timestamp, device_id, operation }))

  const entity = '(user_id=? AND entity_type=? AND entity_id=?)'
  t.same(
    await during(async () => {
      await edit(2000, 'device-a')
      await edit(1000, 'device-b')
      await edit(3000, 'device-a', 'delete')
    }),
    [`index of records ${entity}`, `records ${entity}`, `versions ${entity}`],
    'pushes of new records, losers and deletes read no ciphertext',
  )
  t.same(
    await during(() => edit(4000, 'device-a')),
    [],
    'a push that undeletes needs no other lookups, and does not touch the ciphertext',
  )
  await edit(1000, 'device-b')
  t.same(
    await during(() => ada.call('POST', '/api/v1/sync/pull', device)),
    ['ciphertexts (user_id=? AND sequence=?)', 'records (user_id=? AND sequence>? AND sequence<?)'],
    'a pull reads the ciphertexts that it returns',
  )
  await edit(5000, 'device-a')
  t.same(
    await during(() => ada.call('GET', '/api/v1/sync/status', device)),
    ['records (user_id=? AND sequence>? AND sequence<?)', 'versions (user_id=? AND sequence<?)'],
    'status reads the changes since the cursor',
  )
})

t.test('A delete neither reads nor writes the ciphertext that it keeps', async (t) => {
  const { user, dataDir } = await buildApp(t)
  const ada = await user('ada')
  const ids = Array.from({ length: 15 }, (_, index) => `x${index}`)
  const encrypted_data = 'x'.repeat(262_144)
  await push(ada, ...ids.map((entity_id) => change({ entity_id, timestamp: 1000, encrypted_data })))
  const path = join(dataDir, 'bookmarks.db')
  const sqlite = new Sqlite(path)
  sqlite.pragma('wal_checkpoint(TRUNCATE)')
  sqlite.close()
  t.equal((await push(ada, ...ids.map((entity_id) => change({ entity_id, operation: 'delete' })))).body.accepted, 15)
  const { size } = await stat(`${path}-wal`)
  t.ok(size < encrypted_data.length, `${size} bytes written for 15 records of ${encrypted_data.length}`)
})

t.test('Tokens of several users are searched once each, not once for each pair of a user and a token', async (t) => {
  const statements: string[] = []
  onPrepare(t, (sql) => statements.push(sql))
  const { call, user, dataDir } = await buildApp(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const cookie = [ada, bob].map(({ session }) => `service_session=${session}`).join('; ')
  t.equal((await call('GET', '/api/v1/account', { headers: { cookie } })).status, 401)
  const sqlite = new Sqlite(join(dataDir, 'bookmarks.db'), { readonly: true })
  t.teardown(() => sqlite.close())
  const [sent = ''] = statements.filter((sql) => /from "tokens".*json_each/s.test(sql))
  const steps = stepsOf(sqlite, [sent])
  t.ok(steps.includes('SEARCH tokens USING INDEX sqlite_autoindex_tokens_1 (user_id=? AND hash=?)'), steps.join('\n'))
  t.equal(steps.filter((step) => step.startsWith('SCAN')).length, 1, 'only the list of pairs is scanned')
})

t.test('The logins of sockets of several users are searched once each, up to their first valid token', async (t) => {
  const statements: string[] = []
  onPrepare(t, (sql) => statements.push(sql))
  const { context, user, dataDir } = await buildApp(t)
  const logins = [await user('ada'), await user('bob'), await user('bob')]
  const [ada, ...others] = logins as [TestUser, ...TestUser[]]
  await context.database.write((trx) => endLogin(trx, ada))
  statements.length = 0
  const alive = await findAliveLogins(context.database.db, logins, Date.now())
  t.same([...alive].sort(), others.map(({ loginId }) => loginId).sort())
  const sqlite = new Sqlite(join(dataDir, 'bookmarks.db'), { readonly: true })
  t.teardown(() => sqlite.close())
  t.same(
    stepsOf(sqlite, statements).filter((step) => /^(SEARCH|SCAN)/.test(step)),
    [
      'SEARCH logins USING COVERING INDEX sqlite_autoindex_logins_1 (user_id=? AND id=?)',
      'SCAN listed VIRTUAL TABLE INDEX 1:',
      'SEARCH tokens EXISTS USING INDEX tokens_login (user_id=? AND login_id=?)',
    ],
  )
})
