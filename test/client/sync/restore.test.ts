/** The service is recovered from a backup while three devices know more than the backup has. */
import { randomBytes } from 'node:crypto'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { deriveKeys } from '../../../src/client/crypto/keys.ts'
import { decryptBookmark } from '../../../src/client/crypto/record.ts'
import { copyDatabase, openCopy } from '../../../src/service/backup/database.ts'
import { buildApp, type TestUser } from '../../support/app.ts'
import { pullAll } from '../../support/changes.ts'
import { isPostgres } from '../../support/database-url.ts'
import { folder } from '../../support/service.ts'
import { World } from './clock.ts'
import { bookmark, type Device, openDevice } from './device.ts'
import { shown } from './person.ts'

if (isPostgres) t.plan(0, 'The backup command copies SQLite')
else {
  t.test('edits that only their own devices know come back, whoever notices first', async (t) => {
    const drill = await begin(t)
    for (const [index, { id, sync }] of drill.devices.entries()) {
      await sync.put([bookmark(`only ${id}`, id), bookmark(`b${index}`, `changed by ${id}`)])
      await sync.syncNow()
    }
    await drill.restore()
    await drill.syncAll()
    const titles = {
      'only a': 'a',
      'only b': 'b',
      'only c': 'c',
      b0: 'changed by a',
      b1: 'changed by b',
      b2: 'changed by c',
    }
    t.match(await drill.stored(), titles)
    t.same(drill.devices.map(shown), Array(3).fill(await drill.stored()))
    drill.nothingReported(t)
  })

  t.test('an edit of what is lost, made before the device notices, is told to whoever made that', async (t) => {
    const drill = await begin(t)
    const [a, b] = drill.devices as [Device, Device]
    await b.sync.put(bookmark('b1', 'lost'))
    for (const { sync } of [b, a]) await sync.syncNow()
    await drill.restore()
    await a.sync.update('b1', { title: 'made then' })
    await drill.syncAll()
    t.same(drill.devices.map(shown), Array(3).fill(await drill.stored()))
    const conflict = { fields: ['title'], mine: { title: 'lost' }, theirs: { title: 'made then' } }
    t.match(b.sync.conflicts(), [conflict], 'the service cannot know that a had seen it')
  })

  t.test('an edit that is made before the device notices is kept, on top of what came back', async (t) => {
    const drill = await begin(t)
    const [a, b] = drill.devices as [Device, Device]
    await b.sync.put([bookmark('b1', 'lost'), bookmark('b2', 'also lost')])
    await b.sync.remove(['b3'])
    await b.sync.syncNow()
    await a.sync.syncNow()
    await drill.restore()
    await a.sync.put(bookmark('b4', 'made then'))
    await a.sync.update('b1', { tags: ['made then'] })
    await drill.syncAll()
    t.match(await drill.stored(), { b1: 'lost', b2: 'also lost', b4: 'made then' })
    t.same(b.sync.get('b1')?.tags, ['made then'])
    t.notOk('b3' in (await drill.stored()), 'the delete came back')
    t.same(drill.devices.map(shown), Array(3).fill(await drill.stored()))
    drill.nothingReported(t)
  })
}

/** Three devices with the same 40 bookmarks, of which the service has a backup. */
async function begin(t: Test) {
  const dataDir = await folder(t)
  const copy = join(await folder(t), 'backup.db')
  const database = join(dataDir, 'bookmarks.db')
  let app = await buildApp(t, { LOG_LEVEL: 'error' }, { dataDir })
  const world = new World((time) => app?.setClock(time))
  let signedIn = await app.user('ann')
  const user: TestUser = { ...signedIn, call: (...request) => app.as(signedIn).call(...request) }
  const keys = deriveKeys(randomBytes(32))
  const devices = ['a', 'b', 'c'].map((id) => openDevice({ user, keys, world, id }))
  const restored: { kept: number; pushed: number }[] = []
  for (const { sync } of devices) {
    t.teardown(() => sync.stop())
    sync.on('restored', (event) => restored.push(event))
  }
  const syncAll = async () => {
    for (const { sync } of [...devices, ...devices, ...devices]) {
      await world.pass(1000)
      await sync.syncNow()
    }
  }
  await devices[0]?.sync.put(Array.from({ length: 40 }, (_, index) => bookmark(`b${index}`, `${index}`)))
  await syncAll()
  await copyDatabase(database, copy)
  openCopy(copy, database).close()
  return {
    world,
    devices,
    syncAll,
    async restore() {
      await app.close()
      for (const suffix of ['', '-wal', '-shm']) await rm(database + suffix, { force: true })
      await copyFile(copy, database)
      app = await buildApp(t, { LOG_LEVEL: 'error' }, { dataDir })
      await world.pass(60_000)
      // It starts by the real clock, and sweeps the sessions of this world away.
      signedIn = await app.user('ann')
      return restored
    },
    async stored() {
      const { changes } = await pullAll(user)
      const live = changes.filter(({ operation }) => operation !== 'delete')
      const titles = live.map(({ entity_id: id, encrypted_data = '', data_hash = '' }) => {
        return [id, decryptBookmark(keys, { id, encrypted_data, data_hash }).title] as const
      })
      return Object.fromEntries(titles.sort(([one], [other]) => (one < other ? -1 : 1)))
    },
    nothingReported(t: Test) {
      t.same(
        devices.map(({ conflicts, errors }) => ({ conflicts, errors })),
        Array(3).fill({ conflicts: [], errors: [] }),
      )
      t.notOk(devices.some(({ sync }) => sync.status().heldDeletions))
    },
  }
}
