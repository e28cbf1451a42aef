import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import {
  disableUser,
  enableUser,
  listSessions,
  quotaOf,
  removeUser,
  undeleteUser,
} from '../../src/service/commands/accounts.ts'
import { restoreUser } from '../../src/service/commands/restore-user.ts'
import { type CommandDatabase, openForCommand } from '../../src/service/db/for-command.ts'
import { beginDeletion } from '../../src/service/db/tables/deletions.ts'
import { moveDatabase } from '../../src/service/upkeep/move/move.ts'
import { recount } from '../../src/service/upkeep/recount.ts'
import { tablesOfUser } from '../../src/service/upkeep/rows-of-user.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { databaseUrl } from '../support/database-url.ts'
import { createdExport } from '../support/exports.ts'
import { replaceKeyring } from '../support/keyrings.ts'
import { silent } from '../support/log.ts'
import { folder } from '../support/service.ts'
import { sweepAccounts } from '../support/sweeps.ts'

/** How an operator deletes one account, restores it, and exports its data. */

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const yes = { yes: true } as const

async function open(t: Test, dataDir?: string) {
  const app = await buildApp(t, {}, dataDir === undefined ? {} : { dataDir })
  const beside = await openForCommand(app.context.config.databaseUrl, silent)
  t.teardown(() => beside.close())
  const log = t.capture(console, 'log')
  return { app, beside, printed: () => log().map(({ args }) => String(args[0])) }
}

async function furnished(app: TestApp, name: string): Promise<TestUser> {
  const user = await app.user(name)
  const headers = { 'x-device-id': `${name}'s phone` }
  const made = { encrypted_data: `secret of ${name}` }
  const others = (['group', 'history'] as const).map((entity_type) => change({ entity_type, entity_id: 'a', ...made }))
  const changes = [...['a', 'b'].map((entity_id) => change({ entity_id, ...made })), ...others]
  await user.call('POST', '/api/v1/sync/push', { headers, body: { changes } })
  await push(user, change({ entity_id: 'a', timestamp: Date.now() + 1 }))
  await replaceKeyring(user, 2)
  return user
}

const status = async (user: TestUser) => (await user.call('GET', '/api/v1/sync/status')).body

t.test('An operator can undo a deletion for a day; until then, commands refuse the id', async (t) => {
  const { app, beside, printed } = await open(t)
  const [ada, bob] = [await furnished(app, 'ada'), await furnished(app, 'bob')]
  const before = await status(ada)
  const exported = await createdExport(ada)
  await disableUser(beside, ada.userId)
  await enableUser(beside, ada.userId)
  await removeUser(beside, ada.userId, yes)
  printed()
  t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 401)
  const others: ((database: CommandDatabase, id: string) => Promise<void>)[] = [
    disableUser,
    enableUser,
    listSessions,
    (database, id) => removeUser(database, id, yes),
    (database, id) => quotaOf(database, id, { bytes: undefined, yes: false }, 1),
  ]
  for (const command of others)
    await t.rejects(command(beside, ada.userId), /was deleted; until .*, .* undelete \S+ brings it back/)
  await undeleteUser(beside)
  t.match(printed(), [new RegExp(`^${ada.userId}  "ada@example.org"  can be brought back until 2`)])

  app.setClock(Date.now() + 23 * hourMs)
  await sweepAccounts(app.context)
  await undeleteUser(beside, ada.userId)
  t.match(printed(), [/: restored; the person has to sign in again/])
  t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 401, 'her sessions are not restored')
  const again = await app.user('ada')
  t.same([again.userId, await status(again)], [ada.userId, before])
  t.equal((await again.call('GET', `/api/v1/exports/${exported.id}`)).status, 200)
  t.equal((await again.call('GET', '/api/v1/account/keyring/versions')).body.versions.length, 1)
  t.equal((await status(bob)).total_bookmarks, 2)
  await t.rejects(undeleteUser(beside, ada.userId), /cannot be brought back: it is not deleted/)
  await undeleteUser(beside)
  t.same(printed(), [])

  await removeUser(beside, ada.userId, yes)
  app.setClock(Date.now() + dayMs + hourMs)
  await sweepAccounts(app.context)
  await t.rejects(undeleteUser(beside, ada.userId), /cannot be brought back: it is not deleted/)
  const rows = await app.context.database.db.selectFrom('records').select('user_id').execute()
  t.same([...new Set(rows.map(({ user_id }) => user_id))], [bob.userId])
  await removeUser(beside, bob.userId, yes)
  await app.context.database.write((trx) => beginDeletion(trx, bob.userId, Date.now()))
  t.equal((await app.user('bob')).userId === bob.userId, false)
})

t.test('A person who made another account since gets the old one back if the new one is empty', async (t) => {
  const { app, beside } = await open(t)
  const ada = await furnished(app, 'ada')
  await removeUser(beside, ada.userId, yes)
  const meanwhile = await app.user('ada')
  t.not(meanwhile.userId, ada.userId)
  await push(meanwhile, change({ entity_id: 'new' }))
  await t.rejects(undeleteUser(beside, ada.userId), new RegExp(`made another account, ${meanwhile.userId}, and stored`))
  t.equal((await status(meanwhile)).total_bookmarks, 1, 'nothing has changed')
  await removeUser(beside, meanwhile.userId, yes)
  const empty = await app.user('ada')
  await undeleteUser(beside, ada.userId)
  t.equal((await empty.call('GET', '/api/v1/bookmarks')).status, 401)
  t.equal((await app.user('ada')).userId, ada.userId)
})

t.test('Counters of an account that is being erased are not corrected', async (t) => {
  const { app, beside } = await open(t)
  const ada = await furnished(app, 'ada')
  const { database } = app.context
  await database.write((trx) => beginDeletion(trx, ada.userId, Date.now()))
  await database.db.deleteFrom('records').where('user_id', '=', ada.userId).execute()
  t.same((await Array.fromAsync(recount(beside))).filter(Boolean), [])
})

t.test('ebs admin export writes every row about a person, but no session or token', async (t) => {
  const { app } = await open(t)
  const [ada, bob] = [await furnished(app, 'ada'), await furnished(app, 'bob')]
  await createdExport(ada)
  const { config, database } = app.context
  const tables = await database.db.introspection.getTables()
  const ofUser = tables.filter(({ columns }) => columns.some(({ name }) => name === 'user_id')).map(({ name }) => name)
  t.same(
    Object.keys(tablesOfUser).sort(),
    ofUser.filter((name) => name !== 'deletions').sort(),
    'every table is exported',
  )
  const env = { DATA_DIR: app.dataDir, DATABASE_URL: config.databaseUrl }
  const { code, stdout, stderr } = await runCommand(t, 'admin', ['export', ada.userId], env)
  t.same([code, stderr], [0, ''])
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const counted = Object.groupBy(rows, ({ table }) => table)
  for (const [name, column] of [['users', 'id'], ...ofUser.map((name) => [name, 'user_id'])] as [string, string][]) {
    const stored = await sql`select 1 from ${sql.table(name)} where ${sql.ref(column)} = ${ada.userId}`.execute(
      database.db,
    )
    t.equal(counted[name]?.length ?? 0, stored.rows.length, name)
  }
  t.match(stdout, /"email":"ada@example.org"/)
  for (const told of ['http://test', "ada's browser", "ada's phone", 'secret of ada']) t.match(stdout, told)
  const sealed = await database.db.selectFrom('users').select('export_key_sealed').execute()
  const hashes = await database.db.selectFrom('tokens').select('hash').execute()
  for (const secret of [...sealed.map((row) => row.export_key_sealed), ...hashes.map(({ hash }) => hash)])
    t.notMatch(stdout, secret)
  t.notMatch(stdout, bob.userId)
  const wrong = await runCommand(t, 'admin', ['export', 'nobody'], env)
  t.match([wrong.code, wrong.stdout, wrong.stderr], [1, '', /no user has the id nobody/])
})

t.test('One erased account can be restored from a backup without affecting others', async (t) => {
  const dataDir = await folder(t)
  const seeded = await buildApp(t, {}, { dataDir })
  const [ada, bob] = [await furnished(seeded, 'ada'), await furnished(seeded, 'bob')]
  const before = await status(ada)
  await seeded.close()
  const backup = join(await folder(t), 'backup')
  await mkdir(backup)
  await moveDatabase(await databaseUrl(dataDir), `sqlite:${join(backup, 'bookmarks.db')}`, silent as never, () => {})

  const { app, beside, printed } = await open(t, dataDir)
  const carol = await app.user('carol')
  await t.rejects(restoreUser(beside, ada.userId, backup), /is there: only an account that is gone/)
  await t.rejects(restoreUser(beside, carol.userId, backup), new RegExp(`the backup has no user ${carol.userId}`))
  await t.rejects(restoreUser(beside, ada.userId, join(backup, 'no')), /there is no file/)
  const junk = await folder(t)
  for (const file of ['bookmarks.db', 'url']) await writeFile(join(junk, file), 'junk')
  await t.rejects(restoreUser(beside, ada.userId, junk), new RegExp(`^${junk}: .* cannot be opened`))
  await t.rejects(restoreUser(beside, ada.userId, join(junk, 'url')), new RegExp(`^${junk}/url must begin`))
  await removeUser(beside, ada.userId, yes)
  await t.rejects(
    restoreUser(beside, ada.userId, backup),
    new RegExp(`was deleted, and .* undelete ${ada.userId} still brings it back`),
  )
  app.setClock(Date.now() + 2 * dayMs)
  await sweepAccounts(app.context)
  app.setClock(undefined)
  const bobs = await status(app.as(bob))
  const meanwhile = await app.user('ada')
  await push(meanwhile, change({ entity_id: 'new' }))

  let writes = 0
  const interrupted = {
    ...beside,
    write: ((work, owner) => {
      writes += 1
      return writes > 3 ? Promise.reject(new Error('interrupted')) : beside.write(work, owner)
    }) as CommandDatabase['write'],
  }
  await t.rejects(restoreUser(interrupted, ada.userId, backup), /interrupted/)
  await t.rejects(undeleteUser(beside, ada.userId), /it is being erased/, 'a half-restored account cannot be undeleted')
  await t.rejects(restoreUser(beside, ada.userId, backup), /made another account/)
  await removeUser(beside, meanwhile.userId, yes)
  printed()
  await restoreUser(beside, ada.userId, backup)
  t.match(printed(), [/: is back with 4 records; the person has to sign in again, and devices send what is newer/])

  const back = await app.user('ada')
  t.equal(back.userId, ada.userId)
  const after = await status(back)
  t.same([after.digest, after.total_bookmarks], [before.digest, before.total_bookmarks])
  t.not(after.epoch, before.epoch, 'the new epoch makes her devices check what is missing')
  t.equal((await pullAll(back)).changes.length, 4)
  await push(back, change({ entity_id: 'c' }))
  const { body } = await back.call('POST', '/api/v1/sync/pull', {
    body: { since: before.last_sync_timestamp ?? Date.now() },
  })
  t.ok(
    body.changes.some(({ entity_id }: { entity_id: string }) => entity_id === 'c'),
    'sequence numbers are greater than before',
  )
  t.same(await status(app.as(bob)), bobs)
  t.same((await Array.fromAsync(recount(beside))).filter(Boolean), [])
  t.equal((await back.call('GET', '/api/v1/account/keyring/versions')).body.versions.length, 1)

  // He deletes the account himself.
  await app.context.database.write((trx) => beginDeletion(trx, bob.userId, Date.now()))
  const refused = await restoreUser(beside, bob.userId, backup).then(String, String)
  const [, time = ''] = /is being erased, and the first hourly sweep after (\S+) ends that/.exec(refused) ?? []
  app.setClock(Date.parse(time) - 1)
  await sweepAccounts(app.context)
  await t.rejects(restoreUser(beside, bob.userId, backup), new RegExp(`after ${time}`))
  app.setClock(Date.parse(time))
  await sweepAccounts(app.context)
  await restoreUser(beside, bob.userId, backup)
  t.match(printed(), [/: is back with 4 records/])
})
