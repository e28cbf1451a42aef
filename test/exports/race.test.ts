import t from 'tap'
import { testOnEachStore } from '../support/stores.ts'
import { sweepExports } from '../support/sweeps.ts'
import { until } from '../support/until.ts'
import { buildFixture, exportId, gated, heldJob, largeBookmarks, none, openObject, pastFirstPart } from './fixture.ts'

const id = exportId(1)

testOnEachStore(t, (t, store) => {
  t.test('two workers race: each job has one winner', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    const ids = Array.from({ length: 12 }, (_, index) => exportId(index))
    for (const each of ids) await fixture.addExport(each, 'ada')
    const workers = [fixture.worker(), fixture.worker()]
    t.teardown(() => Promise.all(workers.map((worker) => worker.close())))
    for (const each of ids) t.match(await fixture.settled(each, 'ada'), { status: 'completed', attempts: 1 })
    t.strictSame(
      await fixture.files(),
      ids.map((each) => `${each}.1`),
    )
  })

  t.test('of two workers, one paused past its lease, one wins; nothing of the other stays', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addBookmarks(largeBookmarks())
    await fixture.addExport(id, 'ada')
    const gate = gated(fixture.objects, pastFirstPart)
    const paused = fixture.worker(gate)
    await until(() => gate.waiting.length === 1)
    await paused.stop(none)
    fixture.databaseNow += 15_000
    const other = fixture.worker()
    const row = await fixture.settled(id, 'ada')
    t.match(row, { status: 'completed', object_key: `${id}.2`, attempts: 2 })
    t.strictSame(await fixture.files(), [`${id}.1`, `${id}.2`], 'the paused one’s file is still there')
    await sweepExports(fixture)
    t.strictSame(await fixture.files(), [`${id}.2`], 'the sweep takes it')
    gate.open()
    await paused.stop(id)
    await Promise.all([paused.close(), other.close()])
    t.strictSame(await fixture.find(id, 'ada'), row, 'and its late end changes nothing')
    t.strictSame(await fixture.files(), [`${id}.2`])
    t.equal(JSON.parse(await openObject(fixture.objects, row.object_key)).bookmark_count, 35)
  })

  t.test('a worker that was overtaken while its object was on the way removes it itself', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
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
    const other = fixture.worker()
    await fixture.settled(id, 'ada')
    gate.open()
    await until(() => removed.length === 1)
    t.strictSame(removed, [`${id}.1`])
    t.strictSame(await fixture.files(), [`${id}.2`])
    await Promise.all([paused.close(), other.close()])
  })

  for (const failing of [false, true]) {
    t.test(`a worker that ${failing ? 'fails' : 'ends'} while another has its job changes nothing`, async (t) => {
      const fixture = await buildFixture(t, await store.open(t))
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
      t.match(await fixture.settled(id, 'ada'), { status: 'completed', object_key: `${id}.2` })
      await other.close()
      await sweepExports(fixture)
      t.strictSame(await fixture.files(), [`${id}.2`])
    })
  }

  t.test('a deleted export is dropped: no worker completes it, and nothing of it remains', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const { gate, worker } = await heldJob(t, fixture)
    await fixture.database.db.deleteFrom('exports').execute()
    const stopped = worker.stop(id)
    gate.open()
    await stopped
    t.strictSame(await fixture.files(), [])
    t.equal(await fixture.find(id, 'ada'), undefined)
  })

  t.test('an export deleted in another process is dropped at the next renewal', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const signals: AbortSignal[] = []
    const put: typeof fixture.objects.put = (_key, _exportKey, _content, signal) => {
      signals.push(signal)
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const worker = fixture.worker({ ...fixture.objects, put })
    t.teardown(() => worker.close())
    await until(() => signals.length === 1)
    await fixture.database.db.deleteFrom('exports').execute()
    worker.wake()
    await until(() => signals[0]?.aborted === true)
  })
})
