import t from 'tap'
import { testOnEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { buildFixture, exportId, type Fixture, gated, heldJob, none } from './fixture.ts'

const day = 24 * 60 * 60 * 1000
const id = exportId(1)

testOnEachStore(t, (t, store) => {
  t.test('the job of a worker that died is taken again when its lease is over, not before', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await addLeased(fixture, 1, 15_000)
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    await worker.stop(id)
    fixture.databaseNow += 14_999
    worker.wake()
    await worker.stop(id)
    t.match(await fixture.find(id, 'ada'), { status: 'processing', fence: 1 })
    fixture.databaseNow += 1
    worker.wake()
    t.match(await fixture.settled(id, 'ada'), { status: 'completed', attempts: 2, object_key: `${id}.2` })
  })

  t.test('a job during which three workers died has failed', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await addLeased(fixture, 3, 0)
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    t.match(await fixture.settled(id, 'ada'), { status: 'failed', attempts: 3, size_bytes: null })
  })

  t.test('the job of a dead worker is pending while the others are busy', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    for (const index of [1, 2, 3]) await fixture.addExport(exportId(index), 'ada')
    const dead = exportId(3)
    const set = { attempts: 1, fence: 1, lease_until: fixture.databaseNow + 15_000 }
    await fixture.database.db.updateTable('exports').set(set).where('id', '=', dead).execute()
    const gate = gated(fixture.objects)
    const worker = fixture.worker(gate)
    t.teardown(() => worker.close())
    await until(() => gate.waiting.length === 2)
    await worker.stop(none)
    fixture.databaseNow += 15_000
    worker.wake()
    await until(async () => (await fixture.find(dead, 'ada'))?.status === 'pending')
    gate.open()
    t.match(await fixture.settled(dead, 'ada'), { status: 'completed', attempts: 2 })
  })

  t.test('a lease from before the clock was set back does not last', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await addLeased(fixture, 1, day)
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    t.equal((await fixture.settled(id, 'ada')).status, 'completed')
  })

  t.test('a lease that is a little too long holds: the database’s clock may have been adjusted', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await addLeased(fixture, 1, 20_000)
    const worker = fixture.worker()
    t.teardown(() => worker.close())
    await worker.stop(none)
    t.match(await fixture.find(id, 'ada'), { status: 'processing', fence: 1 })
  })

  t.test('a running job keeps its lease, even after the process was asleep', async (t) => {
    const fixture = await buildFixture(t, await store.open(t))
    await fixture.addExport(id, 'ada')
    const { gate, worker } = await heldJob(t, fixture)
    fixture.databaseNow += day
    worker.wake()
    await until(async () => (await fixture.find(id, 'ada'))?.lease_until === fixture.databaseNow + 15_000)
    gate.open()
    t.match(await fixture.settled(id, 'ada'), { status: 'completed', attempts: 1 })
  })
})

/** The person's export as a dead worker left it: its attempt, and for how long (ms) it is still leased. */
async function addLeased({ addExport, database, databaseNow }: Fixture, attempts: number, leaseMs: number) {
  await addExport(id, 'ada')
  const lease = { attempts, fence: attempts, lease_until: databaseNow + leaseMs }
  await database.db.updateTable('exports').set(lease).execute()
}
