import { once } from 'node:events'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { validate } from 'uuid'
import { WebSocket } from 'ws'
import { damageRecords } from '../backup/fixture.ts'
import { realtimeUrl } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { databaseUrl, isPostgres } from '../support/database-url.ts'
import { pick } from '../support/pick.ts'
import { folder } from '../support/service.ts'
import { sweepVersions } from '../support/sweeps.ts'

const dayMs = 86_400_000
const content = (text: string) => ({ encrypted_data: text, data_hash: `hash-of-${text}` })

async function push(user: TestUser, entity_id: string): Promise<string> {
  const { body } = await user.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id })] } })
  return body.epoch
}

async function pull(user: TestUser, since: number) {
  const { body } = await user.call('POST', '/api/v1/sync/pull', { body: { since } })
  const ids = (body.changes as { entity_id: string }[]).map(({ entity_id }) => entity_id)
  return { ids, cursor: body.last_sync_timestamp as number, epoch: body.epoch as string }
}

async function startOn<T>(t: Test, dataDir: string, user: TestUser, use: (user: TestUser) => Promise<T>): Promise<T> {
  const app = await buildApp(t, {}, { dataDir })
  try {
    return await use(app.as(user))
  } finally {
    await app.close()
  }
}

t.test('All responses with cursors have the same epoch, which a restart keeps', async (t) => {
  const { user, listen, close, dataDir } = await buildApp(t)
  const ada = await user('ada')
  const epoch = await push(ada, 'a')
  t.ok(validate(epoch), epoch)
  const headers = { cookie: ada.cookie, 'x-user-id': ada.userId, 'x-device-id': 'device-b' }
  const socket = new WebSocket(realtimeUrl(await listen()), { headers })
  const [connected] = await once(socket, 'message')
  const others = [
    (await pull(ada, 0)).epoch,
    (await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: [] } })).body.epoch,
    (await ada.call('GET', '/api/v1/sync/status')).body.epoch,
    JSON.parse(String(connected)).epoch,
    await push(await user('bob'), 'b'),
  ]
  t.same(new Set(others), new Set([epoch]))
  socket.terminate()
  await close()
  t.equal(await startOn(t, dataDir, ada, (again) => push(again, 'c')), epoch)
})

t.test('npm run restored begins an epoch, with greater sequence numbers than any that were lost', async (t) => {
  const { user, close, dataDir } = await buildApp(t)
  const [ada, idle] = [await user('ada'), await user('idle')]
  const epoch = await push(ada, 'a')
  await push(idle, 'a')
  const { cursor } = await pull(ada, 0)
  await close()
  const env = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir) }
  const { code, stdout, stderr } = await runCommand(t, 'restored', [], env)
  t.same([code, stderr], [0, ''])
  await startOn(t, dataDir, ada, async (restored) => {
    const first = await pull(restored, cursor + dayMs - 1)
    t.not(first.epoch, epoch)
    t.match(stdout, first.epoch)
    t.ok(first.cursor >= cursor + dayMs, 'numbers are greater even if a clock was a day ahead')
    await push(restored, 'b')
    const next = await pull(restored, first.cursor)
    t.same(next.ids, ['b'])
    t.ok(next.cursor > cursor + dayMs)
    t.same((await pull(restored, 0)).ids, ['a', 'b'])
  })
  t.equal(await startOn(t, dataDir, idle, async (restored) => (await pull(restored, cursor + 1)).epoch.length), 36)
  const twice = await runCommand(t, 'restored', [], env)
  t.not(twice.stdout, stdout, 'each time another')
})

t.test('In the day after npm run restored, a rewind undoes only changes made since', async (t) => {
  const { user, close, dataDir } = await buildApp(t)
  const ada = await user('ada')
  await push(ada, 'before')
  await close()
  const env = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir) }
  t.equal((await runCommand(t, 'restored', [], env)).code, 0)

  const app = await buildApp(t, {}, { dataDir })
  const start = Date.now()
  const at = (seconds: number) => app.setClock(start + seconds * 1000)
  const again = app.as(ada)
  const rewind = async (to: number, dry_run = true) =>
    (await again.call('POST', '/api/v1/sync/rewind', { body: { to, dry_run } })).body
  const edit = (id: string) => again.call('PUT', `/api/v1/bookmarks/${id}`, { body: content(`${id} edited`) })
  at(1)
  // Devices send again what the service has lost.
  await again.call('POST', '/api/v1/sync/push', {
    body: { changes: ['x', 'y', 'z'].map((entity_id) => change({ entity_id })) },
  })
  at(10)
  await edit('x')
  at(20)
  await edit('y')
  await again.call('DELETE', '/api/v1/bookmarks/z')
  at(30)
  const nothing = { restored: 0, deleted: 0, unchanged: 4, beyond_retention: 0, next: null }
  t.same(await rewind(start + 30_000), nothing, 'a rewind to now')
  t.same(await rewind(start + 29_000), nothing, 'a rewind to a second ago')
  t.same(await rewind(start + 15_000), { ...nothing, restored: 2, unchanged: 2 }, 'a rewind to before the last edits')
  t.same(await rewind(start + 5_000), { ...nothing, restored: 3, unchanged: 1 }, 'a rewind to when all was sent again')
  t.same(await rewind(start), { ...nothing, deleted: 2, unchanged: 2 }, 'a rewind to the recovery')

  const { versions } = (await again.call('GET', '/api/v1/bookmarks/x/versions')).body
  t.match(versions, [{ began: start + 1000, ended: start + 10_000, erased_at: start + 10_000 + 30 * dayMs }])
  const { bookmarks } = (await again.call('GET', '/api/v1/trash')).body
  t.match(bookmarks, [{ id: 'z', erased_at: start + 20_000 + 30 * dayMs }])
  await sweepVersions(app.context, start + 10_001 + 30 * dayMs)
  const left = async (id: string) => (await again.call('GET', `/api/v1/bookmarks/${id}/versions`)).body.versions.length
  t.same([await left('x'), await left('y')], [0, 1], 'versions are erased at the announced time')

  const { cursor } = await pull(again, 0)
  t.match(await rewind(start + 15_000, false), { restored: 2 })
  t.same(await rewind(start + 30_000), nothing, 'a rewind to now')
  at(31)
  t.match(await rewind(cursor, false), { restored: 1, deleted: 1 }, 'an earlier cursor means the same place as before')
  t.match((await again.call('GET', '/api/v1/trash')).body.bookmarks, [{ id: 'z' }])
})

t.test('npm run restored refuses a database without users, unless --yes is given', async (t) => {
  const { close, dataDir } = await buildApp(t)
  await close()
  const env = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir) }
  const refused = await runCommand(t, 'restored', [], env)
  t.match(refused, { code: 1, stdout: '', stderr: /^DATABASE_URL: the database has no users: .*--yes\n$/ })
  t.match(await runCommand(t, 'restored', ['--yes'], env), { code: 0, stderr: '', stdout: /^epoch / })
})

t.test('npm run restored refuses a foreign database, and leaves it unchanged', async (t) => {
  const dataDir = await folder(t)
  const env = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir) }
  if (!isPostgres) await writeFile(join(dataDir, 'bookmarks.db'), '')
  for (const _ of ['once', 'and again']) {
    const { code, stdout, stderr } = await runCommand(t, 'restored', [], env)
    t.same([code, stdout, stderr], [1, '', 'DATABASE_URL: the database does not belong to this service\n'])
  }
})

t.test(
  'The first start on a copy of a backup begins a new epoch; later starts keep it',
  { skip: isPostgres && 'npm run backup is for SQLite' },
  async (t) => {
    const { user, close, dataDir } = await buildApp(t)
    const ada = await user('ada')
    const epoch = await push(ada, 'a')
    const { cursor } = await pull(ada, 0)
    const dir = await folder(t)
    const [backup, copy] = [join(dir, 'backup'), join(dir, 'copy')]
    const { code } = await runCommand(t, 'backup', [backup], { DATA_DIR: dataDir })
    t.equal(code, 0)
    t.equal(await push(ada, 'lost'), epoch, 'the original service keeps its epoch')
    await close()
    await cp(backup, copy, { recursive: true })
    const starts = []
    for (const it of [backup, backup, copy]) {
      starts.push(await startOn(t, it, ada, (again) => pull(again, cursor)))
      await startOn(t, it, ada, (again) => push(again, 'lost, too'))
    }
    const [first, second, third] = starts.map((start) => start.cursor)
    t.same(pick(starts, 'ids'), [[], ['lost, too'], []])
    t.ok(Number(first) >= cursor + dayMs)
    t.ok(
      Number(third) > Number(second),
      'of two restores of one backup, the second gives greater numbers than the first',
    )
    const epochs = starts.map((start) => start.epoch)
    t.equal(epochs[0], epochs[1])
    t.equal(new Set([epoch, ...epochs]).size, 3)
  },
)

t.test(
  'npm run restored refuses a damaged file, and one next to the log of another file, which it leaves unchanged',
  { skip: isPostgres && 'SQLite only' },
  async (t) => {
    const { user, close, dataDir } = await buildApp(t)
    const [path, ada] = [join(dataDir, 'bookmarks.db'), await user('ada')]
    const replica = join(await folder(t), 'replica.db')
    await push(ada, 'a')
    const sqlite = new Sqlite(path)
    sqlite.prepare('vacuum into ?').run(replica)
    sqlite.close()
    await push(ada, 'b')
    const log = await readFile(`${path}-wal`)
    await close()

    await cp(replica, path)
    await writeFile(`${path}-wal`, log)
    // Each of them would write the log into the file at its end.
    const foreign = /\S+\.db is intact, but not with \S+-wal, .*: remove \S+-wal and \S+-shm before anything else/
    for (const [command, ...args] of [['admin', 'check'], ['admin', 'users'], ['doctor']] as const) {
      const { code, stdout, stderr } = await runCommand(t, command, args, { DATA_DIR: dataDir })
      t.match({ code, says: stdout + stderr }, { code: 1, says: foreign }, `${command} ${args}`)
    }
    await t.rejects(buildApp(t, {}, { dataDir }), { message: foreign }, 'a start')
    const restored = () => runCommand(t, 'restored', [], { DATA_DIR: dataDir })
    const refusal = /^DATABASE_URL: \S+-wal would be written into .*: if it is of the .* remove it and \S+-shm; .*\n$/
    t.match(await restored(), { code: 1, stdout: /^$/, stderr: refusal })
    t.same([await readFile(path), await readFile(`${path}-wal`)], [await readFile(replica), log])
    await rm(`${path}-wal`)
    t.match(await restored(), { code: 0, stdout: /^epoch / })

    await damageRecords(dataDir)
    const damage = /error +file +\S.*\n +\S.* admin check names whose it is/
    t.match(await runCommand(t, 'doctor', [], { DATA_DIR: dataDir }), { code: 1, stdout: damage })
    t.match(await restored(), { code: 1, stdout: /^$/, stderr: /^DATABASE_URL: \S+bookmarks\.db is damaged \(/ })
  },
)

t.test(
  'A file without tables next to a log without a whole transaction, as a killed first start leaves it, is used',
  { skip: isPostgres && 'SQLite only' },
  async (t) => {
    const dataDir = await folder(t)
    const path = join(dataDir, 'bookmarks.db')
    const sqlite = new Sqlite(path)
    sqlite.pragma('journal_mode = WAL')
    sqlite.close()
    await writeFile(`${path}-wal`, Buffer.alloc(5000, 1))
    const { user } = await buildApp(t, {}, { dataDir })
    t.ok(await push(await user('ada'), 'a'))
  },
)
