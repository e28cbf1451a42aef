import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type ObjectStore, ObjectStoreUnavailableError } from '../../src/service/objects/store.ts'
import { holdIntervals } from '../support/intervals.ts'
import { testOnStoresInDepth } from '../support/stores.ts'
import { sweepExports } from '../support/sweeps.ts'
import { until } from '../support/until.ts'
import {
  exportId,
  type Fixture,
  gated,
  heldJob,
  largeBookmarks,
  none,
  openObject,
  pastFirstPart,
  testsOn,
} from './fixture.ts'

const day = 24 * 60 * 60 * 1000
const id = exportId(1)
/** After its start, a worker looks for exports only when it is woken, not by the clock. */
holdIntervals(t)

testOnStoresInDepth(t, (t, store) => {
  const test = testsOn(store, t)
  test('with a failing store, an export fails after three attempts with growing delays', async (t, fixture) => {
    await fixture.addExport(id, 'ada')
    let attempts = 0
    const put = async () => {
      attempts++
      throw new Error('the store is on fire')
    }
    const worker = fixture.worker({ ...fixture.objects, put })
    await until(async () => (await fixture.find(id, 'ada'))?.status === 'pending')
    t.match(await fixture.find(id, 'ada'), { attempts: 1, lease_until: fixture.databaseNow + 5_000, expires_at: null })
    for (const [delay, status, count] of [
      [5_000, 'pending', 2],
      [10_000, 'failed', 3],
    ] as const) {
      fixture.databaseNow += delay - 1
      worker.wake()
      await worker.stop(id)
      t.equal(attempts, count - 1, 'no attempt comes early')
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

  test('with an unreachable store, an export waits until it is back, without counting attempts', async (t, fixture) => {
    for (const index of [1, 2, 3]) await fixture.addExport(exportId(index), 'ada')
    let attempts = 0
    const put: ObjectStore['put'] = () => {
      attempts += 1
      return Promise.reject(new ObjectStoreUnavailableError('the store is asleep'))
    }
    const objects = { ...fixture.objects, put }
    const worker = fixture.worker(objects)
    const rows = () => Promise.all([1, 2, 3].map((index) => fixture.find(exportId(index), 'ada')))
    const isWaiting = async () => (await rows()).every((row) => row?.status !== 'processing' || row.fence === 0)
    for (let tick = 1; tick <= 6; tick++) {
      await until(async () => attempts === 2 * tick && (await isWaiting()))
      await worker.stop(none)
      t.equal(attempts, 2 * tick, 'waiting exports are not tried before the next tick')
      fixture.databaseNow += 5_000
      worker.wake()
    }
    objects.put = fixture.objects.put
    for (const index of [1, 2, 3]) {
      for (; (await fixture.find(exportId(index), 'ada'))?.status !== 'completed'; await sleep(5)) {
        fixture.databaseNow += 5_000
        worker.wake()
      }
      t.match(await fixture.find(exportId(index), 'ada'), { attempts: 1 }, 'only the successful attempt counts')
    }
    t.match(fixture.lines.join(''), /an export is postponed: the object store is unreachable/)
  })

  test('an export whose key cannot be opened fails, and the log contains no secret', async (t, fixture) => {
    await fixture.addExport(id, 'ada')
    const sealed = (await fixture.find(id, 'ada'))?.key_sealed ?? ''
    await fixture.edit(id, { user_id: 'bob', attempts: 2 })
    fixture.worker()
    t.equal((await fixture.settled(id, 'bob')).status, 'failed')
    const log = fixture.lines.join('')
    t.match(log, `the export key of ${id} cannot be opened with SECRET_KEY`)
    t.notMatch(log, sealed)
    t.strictSame(await fixture.files(), [])
  })

  test('when the completion cannot be stored, the attempt fails and its object is removed', async (t, fixture) => {
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
    fixture.worker({ ...fixture.objects, put }, broken)
    await until(async () => (await fixture.find(id, 'ada'))?.status === 'pending')
    await until(async () => (await fixture.files()).length === 0)
    t.match(fixture.lines.join(''), /disk full/)
  })

  test('a failed attempt counts once, even if leases are checked before its file is removed', async (t, fixture) => {
    await fixture.addExport(id, 'ada')
    const put = () => Promise.reject(new Error('disk full'))
    const removing = Promise.withResolvers<void>()
    const removed = Promise.withResolvers<void>()
    const remove = () => {
      removing.resolve()
      return removed.promise
    }
    const worker = fixture.worker({ ...fixture.objects, put, remove })
    await removing.promise
    worker.wake()
    await worker.stop(none)
    removed.resolve()
    await until(() => Object.values(worker.outcomes()).some((count) => count > 0))
    t.same(worker.outcomes(), { completed: 0, failed: 1, postponed: 0, dropped: 0 })
  })
})

testOnStoresInDepth(t, (t, store) => {
  const test = testsOn(store, t)
  test('the job of a dead worker is taken again when its lease has expired, not before', async (t, fixture) => {
    await addLeased(fixture, 1, 15_000)
    const worker = fixture.worker()
    await worker.stop(id)
    fixture.databaseNow += 14_999
    worker.wake()
    await worker.stop(id)
    t.match(await fixture.find(id, 'ada'), { status: 'processing', fence: 1 })
    fixture.databaseNow += 1
    worker.wake()
    t.match(await fixture.settled(id, 'ada'), { status: 'completed', attempts: 2, object_key: `ada.${id}.2` })
  })

  test('a job whose worker died three times has failed', async (t, fixture) => {
    await addLeased(fixture, 3, 0)
    fixture.worker()
    t.match(await fixture.settled(id, 'ada'), { status: 'failed', attempts: 3, size_bytes: null })
  })

  test('the job of a dead worker is pending while other workers are busy', async (t, fixture) => {
    for (const index of [1, 2, 3]) await fixture.addExport(exportId(index), 'ada')
    const dead = exportId(3)
    await fixture.edit(dead, { attempts: 1, fence: 1, lease_until: fixture.databaseNow + 15_000 })
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    await until(() => gate.waiting.length === 2)
    await worker.stop(none)
    fixture.databaseNow += 15_000
    worker.wake()
    await until(async () => (await fixture.find(dead, 'ada'))?.status === 'pending')
    gate.open()
    t.match(await fixture.settled(dead, 'ada'), { status: 'completed', attempts: 2 })
  })

  test('a lease from before the clock was set back does not count', async (t, fixture) => {
    await addLeased(fixture, 1, day)
    fixture.worker()
    t.equal((await fixture.settled(id, 'ada')).status, 'completed')
  })

  test('a slightly too long lease counts, because the database’s clock may have been adjusted', async (t, fixture) => {
    await addLeased(fixture, 1, 20_000)
    const worker = fixture.worker()
    await worker.stop(none)
    t.match(await fixture.find(id, 'ada'), { status: 'processing', fence: 1 })
  })

  test('a running job keeps its lease, even after the process was asleep', async (t, fixture) => {
    await fixture.addExport(id, 'ada')
    const { gate, worker } = await heldJob(fixture)
    fixture.databaseNow += day
    worker.wake()
    await until(async () => (await fixture.find(id, 'ada'))?.lease_until === fixture.databaseNow + 15_000)
    gate.open()
    t.match(await fixture.settled(id, 'ada'), { status: 'completed', attempts: 1 })
  })
})

/** Adds ada's export as a dead worker left it, with this many attempts and a lease that ends in `leaseMs`. */
async function addLeased({ addExport, edit, databaseNow }: Fixture, attempts: number, leaseMs: number) {
  await addExport(id, 'ada')
  await edit(id, { attempts, fence: attempts, lease_until: databaseNow + leaseMs })
}

testOnStoresInDepth(t, (t, store) => {
  const test = testsOn(store, t)
  test('when two workers race, each job has one winner', async (t, fixture) => {
    const ids = Array.from({ length: 12 }, (_, index) => exportId(index))
    for (const each of ids) await fixture.addExport(each, 'ada')
    for (const _ of ['one', 'another']) fixture.worker()
    for (const each of ids) t.match(await fixture.settled(each, 'ada'), { status: 'completed', attempts: 1 })
    t.strictSame(
      await fixture.files(),
      ids.map((each) => `ada.${each}.1`),
    )
  })

  test('if a worker paused beyond its lease loses its job, nothing of its file stays', async (t, fixture) => {
    await fixture.addBookmarks(largeBookmarks())
    await fixture.addExport(id, 'ada')
    const { gate, worker: paused } = await heldJob(fixture, pastFirstPart)
    fixture.databaseNow += 15_000
    fixture.worker()
    const row = await fixture.settled(id, 'ada')
    t.match(row, { status: 'completed', object_key: `ada.${id}.2`, attempts: 2 })
    t.strictSame(await fixture.files(), [`ada.${id}.1`, `ada.${id}.2`], 'the paused worker’s file is still there')
    await sweepExports(fixture)
    t.strictSame(await fixture.files(), [`ada.${id}.2`], 'the sweep removed it')
    gate.open()
    await paused.stop(id)
    await paused.close()
    t.strictSame(await fixture.find(id, 'ada'), row, 'the late end of the paused worker changes nothing')
    t.strictSame(await fixture.files(), [`ada.${id}.2`])
    t.equal(JSON.parse(await openObject(fixture.objects, row.object_key)).bookmark_count, 35)
  })

  test('a worker that loses its job during an upload removes its object itself', async (t, fixture) => {
    await fixture.addExport(id, 'ada')
    const gate = gated(fixture.objects)
    const removed: string[] = []
    const remove: typeof gate.remove = async (key) => {
      await gate.remove(key)
      removed.push(key)
    }
    const paused = fixture.worker({ ...gate, remove })
    await until(() => gate.waiting.length === 1)
    await paused.stop(none)
    fixture.databaseNow += 15_000
    fixture.worker()
    await fixture.settled(id, 'ada')
    gate.open()
    await until(() => removed.length === 1)
    t.strictSame(removed, [`ada.${id}.1`])
    t.strictSame(await fixture.files(), [`ada.${id}.2`])
  })

  for (const failing of [false, true]) {
    test(`a worker that ${failing ? 'fails' : 'ends'} while another has its job changes nothing`, async (t, fixture) => {
      await fixture.addExport(id, 'ada')
      const [first, second] = [gated(fixture.objects), gated(fixture.objects)]
      let ended = false
      const put: typeof first.put = async (...args) => {
        const size = await first.put(...args)
        ended = true
        if (failing) throw new Error('too late')
        return size
      }
      const paused = fixture.worker({ ...first, put })
      await until(() => first.waiting.length === 1)
      await paused.stop(none)
      fixture.databaseNow += 15_000
      const other = fixture.worker(second)
      await until(() => second.waiting.length === 1)
      await other.stop(none)
      const held = await fixture.find(id, 'ada')
      t.match(held, { status: 'processing', fence: 2 })
      first.open()
      await until(() => ended)
      await paused.close()
      t.strictSame(await fixture.find(id, 'ada'), held)
      second.open()
      t.match(await fixture.settled(id, 'ada'), { status: 'completed', object_key: `ada.${id}.2` })
      await other.close()
      await sweepExports(fixture)
      t.strictSame(await fixture.files(), [`ada.${id}.2`])
    })
  }

  test('an export deleted in another process is dropped at the next renewal', async (_t, fixture) => {
    await fixture.addExport(id, 'ada')
    const signals: AbortSignal[] = []
    const put: typeof fixture.objects.put = (_key, _exportKey, _content, signal) => {
      signals.push(signal)
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const worker = fixture.worker({ ...fixture.objects, put })
    await until(() => signals.length === 1)
    await fixture.database.db.deleteFrom('exports').execute()
    worker.wake()
    await until(() => signals[0]?.aborted === true)
  })
})
