import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startExportWorker } from '../../src/service/exports/worker.ts'
import { type ObjectStore, ObjectStoreUnavailableError } from '../../src/service/objects/store.ts'
import { testOnEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { buildFixture, exportId, none } from './fixture.ts'

const day = 24 * 60 * 60 * 1000
const id = exportId(1)

testOnEachStore(t, (t, store) => {
  t.test('a failing store: three attempts with a growing delay, then failed', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    let attempts = 0
    const put = async () => {
      attempts++
      throw new Error('the store is on fire')
    }
    const worker = fixture.worker({ ...fixture.objects, put })
    t.teardown(() => worker.close())
    await until(async () => (await fixture.find(id, 'ada'))?.status === 'pending')
    t.match(await fixture.find(id, 'ada'), { attempts: 1, lease_until: fixture.databaseNow + 5_000, expires_at: null })
    for (const [delay, status, count] of [
      [5_000, 'pending', 2],
      [10_000, 'failed', 3],
    ] as const) {
      fixture.databaseNow += delay - 1
      worker.wake()
      await worker.stop(id)
      t.equal(attempts, count - 1, 'not before its time')
      fixture.databaseNow += 1
      worker.wake()
      await until(() => attempts === count)
      await until(async () => (await fixture.find(id, 'ada'))?.status === status)
    }
    t.match(await fixture.find(id, 'ada'), {
      size_bytes: null,
      bookmark_count: null,
      expires_at: null,
      object_key: null,
    })
    fixture.databaseNow += day
    worker.wake()
    await worker.stop(id)
    t.equal(attempts, 3)
    t.match(fixture.lines.join(''), /the store is on fire/)
    t.match(fixture.lines.join(''), `"exportId":"${id}","attempt":3`)
  })

  t.test(
    'an unreachable store: the export waits, however often it is tried, and is made once the store is back',
    async (t) => {
      const fixture = await buildFixture(t, await store.open(t))
      for (const index of [1, 2, 3]) await fixture.addExport(exportId(index), 'ada')
      let attempts = 0
      const put: ObjectStore['put'] = () => {
        attempts += 1
        return Promise.reject(new ObjectStoreUnavailableError('the store is asleep'))
      }
      const objects = { ...fixture.objects, put }
      const worker = fixture.worker(objects)
      t.teardown(() => worker.close())
      const rows = () => Promise.all([1, 2, 3].map((index) => fixture.find(exportId(index), 'ada')))
      const isWaiting = async () => (await rows()).every((row) => row?.status !== 'processing' || row.fence === 0)
      for (let tick = 1; tick <= 6; tick++) {
        await until(async () => attempts === 2 * tick && (await isWaiting()))
        await worker.stop(none)
        t.equal(attempts, 2 * tick, 'those that wait are left alone until the next tick')
        fixture.databaseNow += 5_000
        worker.wake()
      }
      objects.put = fixture.objects.put
      for (const index of [1, 2, 3]) {
        for (; (await fixture.find(exportId(index), 'ada'))?.status !== 'completed'; await sleep(5)) {
          fixture.databaseNow += 5_000
          worker.wake()
        }
        t.match(
          await fixture.find(exportId(index), 'ada'),
          { attempts: 1 },
          'no attempt counted except the one that made it',
        )
      }
      t.match(fixture.lines.join(''), /an export is postponed: the object store is unreachable/)
    },
  )

  t.test('an export whose key cannot be opened fails, and the log contains no secret', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const sealed = (await fixture.find(id, 'ada'))?.key_sealed ?? ''
    await fixture.database.db.updateTable('exports').set({ user_id: 'bob', attempts: 2 }).execute()
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    t.equal((await fixture.settled(id, 'bob')).status, 'failed')
    const log = fixture.lines.join('')
    t.match(log, `the export key of ${id} cannot be opened with SECRET_KEY`)
    t.notMatch(log, sealed)
    t.strictSame(await fixture.files(), [])
  })

  t.test('when the completion cannot be stored, the attempt fails and its object is removed', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const { database } = fixture
    const write = database.write
    const broken = { ...database, write: database.write }
    const put: typeof fixture.objects.put = async (...args) => {
      const size = await fixture.objects.put(...args)
      broken.write = () => {
        broken.write = write
        return Promise.reject(new Error('disk full'))
      }
      return size
    }
    const worker = startExportWorker({
      ...fixture,
      database: broken,
      objects: { ...fixture.objects, put },
    })
    t.teardown(() => worker.close())
    await until(async () => (await fixture.find(id, 'ada'))?.status === 'pending')
    await until(async () => (await fixture.files()).length === 0)
    t.match(fixture.lines.join(''), /disk full/)
  })

  t.test('a failed attempt counts as one, even when the leases are checked before its file is removed', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const put = () => Promise.reject(new Error('disk full'))
    const removing = Promise.withResolvers<void>()
    const removed = Promise.withResolvers<void>()
    const remove = () => {
      removing.resolve()
      return removed.promise
    }
    const worker = fixture.worker({ ...fixture.objects, put, remove })
    t.teardown(() => worker.close())
    await removing.promise
    worker.wake()
    await worker.stop(none)
    removed.resolve()
    await until(() => Object.values(worker.outcomes()).some((count) => count > 0))
    t.same(worker.outcomes(), { completed: 0, failed: 1, postponed: 0, dropped: 0 })
  })
})
