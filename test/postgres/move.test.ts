import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { examine } from '../../src/service/commands/doctor.ts'
import { openForCommand } from '../../src/service/db/for-command.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { runCommand, startCommand } from '../support/command.ts'
import { databaseUrl } from '../support/database-url.ts'
import { depth, isDeep } from '../support/depth.ts'
import { createdExport } from '../support/exports.ts'
import { replaceKeyring } from '../support/keyrings.ts'
import { silent } from '../support/log.ts'
import { folder } from '../support/service.ts'

/** `ebs move`: from SQLite to Postgres, and back. */

const sqliteIn = (path: string) => `sqlite:${join(path, 'bookmarks.db')}`
const settings = (dataDir: string, url: string) => ({ DATA_DIR: dataDir, DATABASE_URL: url })
const seeded = await seed(t)

/** Makes data on SQLite of two people who have used several features. */
async function seed(t: Test) {
  const dataDir = await folder(t)
  const app = await buildApp(t, { DATABASE_URL: sqliteIn(dataDir) }, { dataDir })
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  await push(ada, 'edited', { timestamp: 1 })
  await push(ada, 'edited')
  await push(bob, 'a')
  await ada.call('POST', '/api/v1/bookmarks', {
    body: { encrypted_data: 'x'.repeat(60_000), data_hash: 'ü\'"\\\n\t😀' },
  })
  const deleted = await ada.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'AAAA', data_hash: 'h' } })
  await ada.call('DELETE', `/api/v1/bookmarks/${deleted.body.id}`)
  await replaceKeyring(ada, 3)
  const exported = await createdExport(ada)
  const { body: pulled } = await pull(ada, 0)
  await push(ada, 'later')
  const nasty = { name: `Ädä '"\\ \n \u2028 ${'😀'.repeat(300)}`, last_sequence: Number.MAX_SAFE_INTEGER - 1 }
  await app.context.database.db.updateTable('users').set(nasty).where('id', '=', bob.userId).execute()
  const status = (await ada.call('GET', '/api/v1/sync/status')).body
  await app.close()
  return { dataDir, ada, bob, exported, cursor: pulled.last_sync_timestamp, epoch: pulled.epoch, status }
}

async function push(user: TestUser, entity_id: string, more = {}): Promise<void> {
  const { status } = await user.call('POST', '/api/v1/sync/push', {
    body: { changes: [change({ entity_id, ...more })] },
  })
  if (status !== 200) throw new Error(`the push got ${status}`)
}

function pull(user: TestUser, since: number) {
  return user.call('POST', '/api/v1/sync/pull', { body: { since } })
}

async function move(t: Test, from: Record<string, string>, to: string) {
  const file = join(await folder(t), 'database_url')
  await writeFile(file, `${to}\n`)
  return runCommand(t, 'move', ['--to-file', file], from)
}

/** All rows of a database, in a fixed order. */
async function contentOf(url: string): Promise<string> {
  const { db, close } = await openForCommand(url, silent)
  const tables = (await db.introspection.getTables()).map(({ name, columns }) => ({
    name,
    columns: columns.map((column) => column.name).sort(),
  }))
  const lines: string[] = []
  for (const { name, columns } of tables) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(db)
    lines.push(...rows.map((row) => JSON.stringify([name, ...columns.map((column) => row[column])])))
  }
  await close()
  return lines.sort().join('\n')
}

async function hashOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
}

t.test('A move to Postgres and back keeps everything unchanged; sessions and devices go on', async (t) => {
  const { dataDir, ada, exported, cursor, epoch, status } = seeded
  const [there, before] = [await databaseUrl(await folder(t)), await hashOf(join(dataDir, 'bookmarks.db'))]
  const back = await folder(t)
  const first = await move(t, { ...settings(dataDir, sqliteIn(dataDir)), BACKUP_EVERY: '1d' }, there)
  t.same([first.code, first.stderr], [0, ''])
  t.match(
    first.stdout,
    /^everything is in postgres:.*\n {2}checked {2}users 2, logins 2, .*records 4, .*\n.* remove BACKUP_EVERY/,
  )
  t.notMatch(first.stdout, new URL(there).password, 'no password is printed')
  t.equal(await hashOf(join(dataDir, 'bookmarks.db')), before, 'the source is unchanged')
  t.equal(await contentOf(there), await contentOf(sqliteIn(dataDir)))

  const again = await move(t, settings(dataDir, sqliteIn(dataDir)), there)
  t.same([again.code, again.stdout.split('\n')[1]], [0, first.stdout.split('\n')[1]], 'a second call moves nothing')

  const second = await move(t, settings(dataDir, there), sqliteIn(back))
  t.same([second.code, second.stderr], [0, ''])
  t.match(second.stdout, /set BACKUP_EVERY=1d/)
  t.equal(await contentOf(sqliteIn(back)), await contentOf(there))

  await cp(join(dataDir, 'exports'), join(back, 'exports'), { recursive: true })
  await cp(join(dataDir, 'secret.key'), join(back, 'secret.key'))
  for (const [place, url] of [
    [dataDir, there],
    [back, sqliteIn(back)],
  ] as const) {
    const app = await buildApp(t, { DATABASE_URL: url }, { dataDir: place })
    const her = app.as(ada)
    t.same((await her.call('GET', '/api/v1/sync/status')).body, status, 'the old session, the same digest')
    const { body } = await pull(her, cursor)
    t.same([body.changes.map(({ entity_id }: { entity_id: string }) => entity_id), body.epoch], [['later'], epoch])
    t.equal((await her.call('GET', `/api/v1/exports/${exported.id}`)).status, 200)
    t.equal((await app.user('ada')).userId, ada.userId, 'the same person is the same user')
    await push(her, 'new')
    await app.close()
    const check = await runCommand(t, 'admin', ['check'], settings(place, url))
    t.match([check.code, check.stdout], [0, /checked 2 users, 0 with damaged rows/])
    t.match((await runCommand(t, 'admin', ['recount'], settings(place, url))).stdout, /corrected 0/)
  }
  const differs = await move(t, settings(dataDir, sqliteIn(dataDir)), there)
  t.match([differs.code, differs.stderr], [1, /^the database to move to is not empty/], 'that database has changed')
})

t.test('A move leaves out the tokens of logins that the shell of SQLite has deleted', async (t) => {
  const dataDir = await folder(t)
  await cp(seeded.dataDir, dataDir, { recursive: true })
  const shell = new Sqlite(join(dataDir, 'bookmarks.db'))
  shell.exec('pragma foreign_keys = off; delete from logins')
  shell.close()
  const moved = await move(t, settings(dataDir, sqliteIn(dataDir)), await databaseUrl(await folder(t)))
  t.match(moved, { code: 0, stdout: /users 2, logins 0, .*tokens 0/ })
})

t.test('If a move is impossible, one line says why, the exit status is 1, and no database changes', async (t) => {
  const dataDir = await folder(t)
  await cp(seeded.dataDir, dataDir, { recursive: true })
  const [own, other, foreign] = [
    await databaseUrl(await folder(t)),
    await folder(t),
    await databaseUrl(await folder(t)),
  ]
  const from = settings(dataDir, sqliteIn(dataDir))
  const fault = async (env: Record<string, string>, to: string) => {
    const { code, stdout, stderr } = await move(t, env, to)
    t.same([code, stdout], [1, ''])
    return stderr
  }
  const nothing = settings(other, sqliteIn(other))
  t.match(await fault(nothing, own), /^DATABASE_URL: there is no database in /)
  t.notOk(existsSync(join(other, 'bookmarks.db')))
  const foreigners = /^DATABASE_URL: the database does not belong to this service/
  if (isDeep) t.match(await fault(settings(other, own), sqliteIn(other)), foreigners)

  const running = await buildApp(t, { DATABASE_URL: sqliteIn(dataDir) }, { dataDir })
  t.match(await fault(from, own), /^DATABASE_URL: .* is in use by another process/)
  await running.close()

  const inOther = await buildApp(t, { DATABASE_URL: foreign }, { dataDir: other })
  await inOther.user('carol')
  t.match(await fault(from, foreign), /^the database to move to is in use by \d+ connections of this service/)
  if (isDeep) t.match(await fault(settings(other, foreign), sqliteIn(other)), /^DATABASE_URL: .* is in use by \d+ conn/)
  await inOther.close()
  const carols = await contentOf(foreign)
  t.match(await fault(from, foreign), /^the database to move to is not empty/)
  if (isDeep) t.match(await fault(settings(other, foreign), sqliteIn(dataDir)), /^the database to move to is not empty/)
  t.match(await fault(settings(other, foreign), foreign), /^the database to move to is the one that DATABASE_URL names/)
  t.equal(await contentOf(foreign), carols)
  const beside = await openForCommand(foreign, silent)
  await sql`alter table users add column of_a_later_version text`.execute(beside.db)
  await sql`insert into applied_migrations values ('9.0.0', 0, 1)`.execute(beside.db)
  await beside.close()
  t.match(
    await fault(settings(other, foreign), sqliteIn(other)),
    /^DATABASE_URL: another version has used the database/,
  )
  t.notOk(existsSync(join(other, 'bookmarks.db')))
})

t.test('A move killed at any moment has moved nothing or everything, and the next call completes it', async (t) => {
  const dataDir = await folder(t)
  await cp(seeded.dataDir, dataDir, { recursive: true })
  const { db, close } = await openForCommand(sqliteIn(dataDir), silent)
  await sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${sql.lit(depth(5_000, 20_000))})
    insert into used_nonces select 'n' || i, i from n`.execute(db)
  await close()
  const source = await contentOf(sqliteIn(dataDir))
  const onServer = await databaseUrl(await folder(t))
  t.equal((await move(t, settings(dataDir, sqliteIn(dataDir)), onServer)).code, 0)
  const kills = depth(1, 30)
  for (let kill = 0; kill < kills; kill++) {
    for (const [from, to] of [
      [sqliteIn(dataDir), await databaseUrl(await folder(t))],
      [onServer, sqliteIn(await folder(t))],
    ] as const) {
      const command = startCommand(t, 'move', [to], settings(dataDir, from))
      await sleep(300 + (1000 * kill) / kills)
      command.kill('SIGKILL')
      await command.result
      const { code, stderr } = await runCommand(t, 'move', [to], settings(dataDir, from))
      t.same([code, stderr], [0, ''])
      t.equal(await contentOf(to), source)
    }
  }
})

t.test(
  'A start on an empty Postgres warns about an old database with users, as does doctor; moving still works',
  async (t) => {
    const dataDir = await folder(t)
    await cp(seeded.dataDir, dataDir, { recursive: true })
    const env = settings(dataDir, await databaseUrl(await folder(t)))
    const doctor = async () => (await examine(env)).filter(({ says }) => says.includes('has 2 users'))
    const says = new RegExp(`it has no users, while ${dataDir}/bookmarks.db has 2 users`)
    const found = [{ about: 'database', state: 'warning', says, todo: /move (-- )?--to-file FILE/ }]
    t.match(await doctor(), found, 'before the start')
    const app = await buildApp(t, env, { dataDir })
    const warned = app.log.filter((line) => line.includes('"level":40') && says.test(line))
    t.equal(warned.length, 1)
    t.match(warned[0], `DATABASE_URL='sqlite:${dataDir}/bookmarks.db' `)
    t.match(await doctor(), found, 'after it')
    await app.close()
    t.equal((await move(t, settings(dataDir, sqliteIn(dataDir)), env.DATABASE_URL)).code, 0)
    const moved = await buildApp(t, env, { dataDir })
    t.same(
      moved.log.filter((line) => says.test(line)),
      [],
    )
    t.equal((await pull(moved.as(seeded.ada), seeded.cursor)).status, 200)
    await moved.close()
    t.same(await doctor(), [])

    const back = await buildApp(t, settings(dataDir, sqliteIn(dataDir)), { dataDir })
    await back.as(seeded.ada).call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'AAAA', data_hash: 'h' } })
    await back.close()
    const again = await buildApp(t, env, { dataDir })
    const ahead = new RegExp(`${dataDir}/bookmarks.db has later changes of 1 user: .*restored`)
    t.equal(again.log.filter((line) => ahead.test(line)).length, 1, 'the old database was used since')
    await again.close()
    const [finding] = (await examine(env)).filter(({ state }) => state === 'warning')
    t.match(finding, { about: 'database', says: /has later changes of 1 user/, todo: /restored/ })
  },
)
