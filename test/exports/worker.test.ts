import { mock } from 'node:test'
import t from 'tap'
import { testOnEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { buildFixture, exportId, gated, none, start } from './fixture.ts'

const id = exportId(1)

testOnEachStore(t, (t, store) => {
  t.test('two jobs run at a time, the oldest first; the next follows by itself', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    for (const index of [1, 2, 3]) {
      fixture.now = start + index
      await fixture.addExport(exportId(index), index === 2 ? 'bob' : 'ada')
    }
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    t.teardown(() => worker.close())
    await until(() => gate.waiting.length === 2)
    await worker.stop(none)
    worker.wake()
    t.strictSame(gate.waiting, [`${exportId(1)}.1`, `${exportId(2)}.1`])
    t.equal((await fixture.find(exportId(3), 'ada'))?.fence, 0)
    gate.open()
    for (const [index, user] of [
      [1, 'ada'],
      [2, 'bob'],
      [3, 'ada'],
    ] as const) {
      t.equal((await fixture.settled(exportId(index), user)).status, 'completed')
    }
  })

  t.test('a worker takes a job at once when it is woken, otherwise within 5 s', async (t) => {
    mock.timers.enable({ apis: ['setInterval'] })
    t.teardown(() => mock.timers.reset())
    const fixture = await buildFixture(t, await store.open(t))
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    await worker.stop(id)
    await fixture.addExport(id, 'ada')
    worker.wake()
    t.equal((await fixture.settled(id, 'ada')).status, 'completed')
    await fixture.addExport(exportId(2), 'ada')
    mock.timers.tick(5_000)
    t.equal((await fixture.settled(exportId(2), 'ada')).status, 'completed')
  })

  t.test('closing gives a running job back at once, without counting the attempt, and leaves no file', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    await until(() => gate.waiting.length === 1)
    await worker.stop(none)
    t.strictSame(await fixture.files(), store.unfinished(`${id}.1`))
    gate.open()
    await worker.close()
    t.match(await fixture.find(id, 'ada'), { status: 'pending', attempts: 0, lease_until: 0, size_bytes: null })
    t.strictSame(await fixture.files(), [])
    t.notMatch(fixture.lines.join(''), /"level":50/)
    const next = fixture.worker()
    t.teardown(() => next.close())
    t.match(await fixture.settled(id, 'ada'), { status: 'completed', attempts: 1, object_key: `${id}.2` })
  })

  t.test('a worker that is closed takes no more jobs', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    const worker = fixture.worker()
    await worker.close()
    await fixture.addExport(id, 'ada')
    worker.wake()
    await worker.close()
    t.equal((await fixture.find(id, 'ada'))?.fence, 0)
  })

  t.test('closing right after the start gives back what was just taken', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    await fixture.worker().close()
    t.match(await fixture.find(id, 'ada'), { attempts: 0, lease_until: 0 })
    t.strictSame(await fixture.files(), [])
  })
})
