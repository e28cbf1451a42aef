import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { openChunks } from '../../src/client/export-file/export-file.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { importMany, pullAll } from '../support/changes.ts'
import { databaseUrl } from '../support/database-url.ts'
import { depth } from '../support/depth.ts'
import { finishedExport } from '../support/exports.ts'
import { folder, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startLoad } from './load.ts'
import { follow, servedBy, startInstance, startInstances } from './processes.ts'

const count = depth(2, 3)
const rounds = depth(2, 20)
const bookmarks = depth(500, 20_000)
/** The time after which another instance takes over an unfinished export. */
const leaseMs = 15_000
const keptMs = 7 * 24 * 3_600_000

t.test(`SIGKILL of an instance under load, ${rounds} times: no write is lost, others finish its exports`, async (t) => {
  const dataDir = await folder(t)
  const [ada, bob] = await prepare(t, dataDir)
  const instances = await startInstances(t, count, dataDir)
  const database = new pg.Client({ connectionString: await databaseUrl(dataDir) })
  await database.connect()
  t.teardown(() => database.end())
  const followers = instances.map((_, index) => follow(t, instances, ada, `socket-${index}`, index))
  const load = startLoad(servedBy(instances, ada), 6)

  let cutOff: { ids: string[]; at: number } | undefined
  for (let round = 1; round <= rounds; round += 1) {
    const before = load.acknowledged.length
    await until(() => load.acknowledged.length >= before + 10 + (round % 10))
    const index = round % instances.length
    const victim = instances[index] as Service
    // Only in the last round, because an export fails after its instance was killed three times.
    const ids = round === rounds ? await beginExports(victim.as(bob), database) : []
    await sleep(round % 7)
    t.match(await victim.kill('SIGKILL'), { signal: 'SIGKILL' })
    cutOff = { ids, at: Date.now() }
    if (ids.length > 0) await database.query('rollback')
    const left =
      'select lease_until - extract(epoch from clock_timestamp()) * 1000 as ms from exports where id = any($1)'
    for (const { ms } of (await database.query(left, [ids])).rows) t.ok(ms <= leaseMs, `leased for ${ms} ms more`)
    instances[index] = await startInstance(t, dataDir)
  }
  const before = load.acknowledged.length
  await until(() => load.acknowledged.length >= before + 10)
  await load.stop()

  const pulled = (await pullAll(servedBy(instances, ada))).changes.map(({ entity_id }) => entity_id)
  const acknowledged = load.acknowledged.flat()
  const there = new Set(pulled)
  t.same(
    acknowledged.filter((name) => !there.has(name)),
    [],
    'no acknowledged change is lost',
  )
  t.equal(pulled.length, acknowledged.length, 'pushes that were cut off and repeated are stored once')
  for (const { entities, stamps, closeCodes } of followers) {
    await until(() => (stamps.at(-1) ?? 0) > 0 && entities.length >= pulled.length)
    t.ok(entities.join() === pulled.join(), 'a socket, resumed at another instance, missed and repeated nothing')
    t.ok(
      closeCodes.length > 0 && closeCodes.every((code) => code === 1006),
      `the socket was cut off ${closeCodes.length} times`,
    )
  }
  const { ids, at } = cutOff as NonNullable<typeof cutOff>
  const delays = await Promise.all(ids.map((id) => checkExport(t, servedBy(instances, bob), id, at)))
  t.comment(`${acknowledged.length} changes acknowledged; exports finished ${delays.join(', ')} ms after the kill`)
})

/** Makes two users, one of whom has so many bookmarks that an export takes a while. */
async function prepare(t: Test, dataDir: string): Promise<[TestUser, TestUser]> {
  const { user, close } = await buildApp(t, {}, { dataDir })
  const [ada, bob] = [await user('ada'), await user('bob')]
  const content = { encrypted_data: 'x'.repeat(1_000), data_hash: 'h' }
  await importMany(
    bob,
    Array.from({ length: bookmarks }, (_, index) => ({ id: `b${index}`, ...content })),
  )
  await close()
  return [ada, bob]
}

/**
 * Begins as many exports as an instance makes at a time. Resolves when the instance works on them. The table lock
 * keeps the instance from finishing one before it is killed.
 */
async function beginExports(user: TestUser, database: pg.Client): Promise<string[]> {
  await database.query('begin; lock table ciphertexts')
  const made = [await user.call('POST', '/api/v1/exports'), await user.call('POST', '/api/v1/exports')]
  const ids: string[] = made.map(({ body }) => body.id)
  const begun = 'select id from exports where id = any($1) and attempts = 1'
  await until(async () => (await database.query(begun, [ids])).rowCount === ids.length)
  return ids
}

/** Checks that another process finished the whole export. Returns how long after the kill it did. */
async function checkExport(t: Test, user: TestUser, id: string, at: number): Promise<number> {
  const { status, bookmark_count, expires_at } = await finishedExport(user, id)
  const delay = (expires_at as number) - keptMs - at
  t.same([status, bookmark_count], ['completed', bookmarks])
  t.ok(delay > 0, 'the killed instance had not finished the export')
  const { raw } = await user.call('GET', `/api/v1/exports/${id}`)
  const { body } = await user.call('GET', `/api/v1/account/export-key?export=${id}`)
  const pieces: Uint8Array[] = []
  for await (const piece of openChunks(new Blob([Uint8Array.from(raw)]), Buffer.from(body.key, 'base64')))
    pieces.push(piece.slice())
  const file = JSON.parse(Buffer.concat(pieces).toString())
  t.equal(new Set(file.bookmarks.map((each: { id: string }) => each.id)).size, bookmarks, 'the export is complete')
  return delay
}
