import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { copyDatabase } from '../../src/service/backup/database.ts'
import { openFile } from '../exports/fixture.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { runCommand, startCommand } from '../support/command.ts'
import { depth } from '../support/depth.ts'
import { createdExport } from '../support/exports.ts'
import { folder, startService } from '../support/service.ts'
import { countUsage } from '../support/usage.ts'

const writers = 8
/** Leaves the machine time for the backup. */
const pauseMs = 10
const large = 60

/** Leaves enough in the folder for a copy to take a while. */
async function seed(t: Test, dataDir: string): Promise<{ ada: TestUser; seeded: number }> {
  const { context, user, close } = await buildApp(t, {}, { dataDir })
  const ada = await user('ada')
  const data = { encrypted_data: 'A'.repeat(262_144), data_hash: 'h' }
  const bookmarks = Array.from({ length: large }, (_, index) => ({ id: `${index}`, ...data }))
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  const { last_stamp } = await context.database.db.selectFrom('users').select('last_stamp').executeTakeFirstOrThrow()
  await close()
  return { ada, seeded: last_stamp }
}

interface Push {
  ids: string[]
  status: number | undefined
}

/** One push after another, until it is told to stop. */
async function pushUntil(user: TestUser, name: string, pushes: Push[], isOver: () => boolean): Promise<void> {
  for (let count = 0; !isOver(); count += 1) {
    const ids = Array.from({ length: count % 4 || 101 }, (_, index) => `${name}-${count}-${index}`)
    const push: Push = { ids, status: undefined }
    pushes.push(push)
    const changes = ids.map((entity_id) => change({ entity_id, device_id: name }))
    push.status = (await user.call('POST', '/api/v1/sync/push', { body: { changes } })).status
    await sleep(pauseMs)
  }
}

async function pulledIds(user: TestUser, since: number): Promise<Set<string>> {
  return new Set((await pullAll(user, { since })).changes.map(({ entity_id }) => entity_id))
}

t.test(`A backup taken while ${writers} writers push starts as a service, and disturbs none of them`, async (t) => {
  const dataDir = await folder(t)
  const backup = join(await folder(t), 'backup')
  const { ada, seeded } = await seed(t, dataDir)
  const service = await startService(t, dataDir, { LOG_LEVEL: 'error' })
  const user = service.as(ada)
  const kept = await createdExport(user)
  const lost = await createdExport(user)
  await rm(join(dataDir, 'exports', `${lost.id}.1`))

  const pushes: Push[] = []
  let over = false
  const pushing = Array.from({ length: writers }, (_, index) => pushUntil(user, `w${index}`, pushes, () => over))
  while (pushes.length < 5 * writers) await sleep(1)
  const acknowledged = pushes.filter(({ status }) => status === 200)
  const begun = pushes.length
  const { code, stdout, stderr } = await runCommand(t, 'backup', [backup], { DATA_DIR: dataDir })
  t.ok(pushes.length > begun, `${pushes.length - begun} pushes while it was made, ${acknowledged.length} before`)
  over = true
  await Promise.all(pushing)
  t.same([code, stderr], [0, ''])
  t.match(stdout, `left out: the export ${lost.id}, its file is gone\n`)
  t.match(
    stdout,
    /checked {2}ciphertexts \d{3,}, .*devices 8, .*exports 1, .*logins 1, records \d{3,}, .*users 1, versions \d+\n/,
  )
  t.match(stdout, `SECRET_KEY="$(cat ${dataDir}/secret.key)"`, 'what else is needed')

  t.same(new Set(pushes.map(({ status }) => status)), new Set([200]), 'no write had an error')
  const there = await pulledIds(user, seeded)
  t.ok(
    pushes.every(({ ids }) => ids.every((id) => there.has(id))),
    'the service has them all',
  )
  await service.kill('SIGKILL')
  const later = await runCommand(t, 'backup', [`${backup}-2`], { DATA_DIR: dataDir })
  t.match(later.stdout, ` records ${large + there.size},`, 'and so has a backup that is made after a crash')

  t.same((await readdir(backup, { recursive: true })).toSorted(), ['bookmarks.db', 'exports', `exports/${kept.id}.1`])
  t.equal((await stat(join(backup, 'bookmarks.db'))).mode & 0o777, 0o600)
  const SECRET_KEY = (await readFile(join(dataDir, 'secret.key'), 'utf8')).trim()
  const restored = (await buildApp(t, { SECRET_KEY }, { dataDir: backup })).as(ada)
  const saved = await pulledIds(restored, seeded)
  t.ok(
    acknowledged.every(({ ids }) => ids.every((id) => saved.has(id))),
    'what was acknowledged before is in it',
  )
  t.ok(
    pushes.every(({ ids }) => new Set(ids.map((id) => saved.has(id))).size === 1),
    'every push whole or not at all',
  )
  t.equal((await restored.call('GET', '/api/v1/sync/status')).body.total_bookmarks, large + saved.size)
  const { raw } = await restored.call('GET', `/api/v1/exports/${kept.id}`)
  const { body } = await restored.call('GET', `/api/v1/account/export-key?export=${kept.id}`)
  t.equal(JSON.parse(await openFile(raw, Buffer.from(body.key, 'base64'))).bookmark_count, large)
  t.equal((await restored.call('GET', `/api/v1/exports/${lost.id}`)).status, 404)
  t.match(await createdExport(restored), { status: 'completed', bookmark_count: large + saved.size })
})

t.test('The copy is of one moment, and is made in one go, however often somebody writes meanwhile', async (t) => {
  const [from, to] = [join(await folder(t), 'from.db'), join(await folder(t), 'to.db')]
  const rows = 200
  const writer = new Sqlite(from)
  writer.pragma('journal_mode = WAL')
  writer.exec('create table rows (data text)')
  const insert = writer.prepare("insert into rows values (printf('%.*c', 100000, 'x'))")
  for (let row = 0; row < rows; row += 1) insert.run()
  let writes = 0
  let over = false
  const write = () => {
    if (over || writes === rows) return
    insert.run()
    writes += 1
    setImmediate(write)
  }
  setImmediate(write)
  await copyDatabase(from, to)
  over = true
  t.ok(writes > 2, `done after ${writes} writes`)
  const copy = new Sqlite(to, { readonly: true })
  t.equal(copy.prepare('select count(*) from rows').pluck().get(), rows)
  copy.close()
  writer.close()
})

const kills = depth(2, 8)
const stops = depth(1, 4)

t.test(
  'Killed at any moment it leaves no folder of that name, or a whole one; told to stop, it leaves nothing',
  async (t) => {
    const dataDir = await folder(t)
    const { ada } = await seed(t, dataDir)
    const parent = await folder(t)
    const names = () => readdir(parent)
    let [round, caught] = [0, 0]
    for (; caught < kills + stops; round += 1) {
      const backup = `backup-${round}`
      const before = (await names()).length
      const command = startCommand(t, 'backup', [join(parent, backup)], { DATA_DIR: dataDir })
      while ((await names()).length === before) await sleep(1)
      await sleep((caught % 4) * 30)
      const signal = caught < kills ? 'SIGKILL' : 'SIGTERM'
      command.kill(signal)
      const { code } = await command.result
      const left = (await names()).filter((name) => name === backup || name.startsWith(`${backup}.`))
      // One that was done before the signal.
      if (left.includes(backup)) continue
      caught += 1
      if (signal === 'SIGKILL') t.match(left, [/^backup-\d+\.unfinished-/])
      else t.same([code, left], [1, []])
    }
    t.comment(`${round - caught} of ${round} were done before the signal`)
    const again = join(parent, 'again')
    t.match(await runCommand(t, 'backup', [again], { DATA_DIR: dataDir }), { code: 0 })
    for (const name of (await names()).filter((name) => !name.includes('.'))) {
      const restored = await buildApp(t, {}, { dataDir: join(parent, name) })
      t.same(await countUsage(restored.context, ada.userId), { records: large, bytes: large * 262_144 }, name)
      await restored.close()
    }
  },
)
