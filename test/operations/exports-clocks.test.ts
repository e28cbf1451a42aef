import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startExportWorker } from '../../src/service/exports/worker.ts'
import { gated, none } from '../exports/fixture.ts'
import { finishedExport } from '../support/exports.ts'
import { until } from '../support/until.ts'
import { openIdleExports, path } from './exports-fixture.ts'

const hour = 3_600_000

const { app, begin } = await openIdleExports(t)

/** Two workers on one database: one clock is right, the other is off by this much. Their files wait to be released. */
async function workersApart(t: Test, skew: number) {
  const { ada } = await begin(t)
  const { context } = app
  const start = async (clock: () => number) => {
    const gate = gated(context.objects)
    const worker = startExportWorker({ ...context, clock, objects: gate })
    t.teardown(async () => {
      gate.open()
      await worker.close()
    })
    // They have looked for jobs once, and look again when they are woken.
    await worker.stop(none)
    return { ...worker, gate }
  }
  const { db, now } = context.database
  return {
    ada,
    workers: { right: await start(Date.now), wrong: await start(() => Date.now() + skew) },
    row: () => db.selectFrom('exports').selectAll().where('user_id', '=', ada.userId).executeTakeFirstOrThrow(),
    leave: (lease: { attempts: number; fence: number; endsIn: number }) =>
      db
        .updateTable('exports')
        .set({ attempts: lease.attempts, fence: lease.fence, lease_until: sql`${now} + ${lease.endsIn}` })
        .where('user_id', '=', ada.userId)
        .execute(),
  }
}

for (const [skew, name] of [
  [hour, 'an hour ahead'],
  [-hour, 'an hour behind'],
] as const) {
  for (const holder of ['right', 'wrong'] as const) {
    const stealer = holder === 'right' ? 'wrong' : 'right'
    t.test(`A clock ${name}: the ${stealer} one does not steal an active job of the ${holder} one`, async (t) => {
      const { ada, workers, row } = await workersApart(t, skew)
      const { body } = await ada.call('POST', path)
      workers[holder].wake()
      await until(() => workers[holder].gate.waiting.length === 1)
      const { lease_until } = await row()
      const left = lease_until - Date.now()
      t.ok(left > 0 && left <= 15_000, `the lease is over in ${left} ms`)
      workers[stealer].wake()
      await workers[stealer].stop(none)
      t.match(await row(), { status: 'processing', fence: 1, lease_until })
      workers[holder].gate.open()
      t.match(await finishedExport(ada, body.id), { status: 'completed' })
      t.match(await row(), { attempts: 1, fence: 1 })
    })
  }

  t.test(`A clock ${name}: it takes the job of a dead worker when its lease is over, not before`, async (t) => {
    const { ada, workers, row, leave } = await workersApart(t, skew)
    const { wrong } = workers
    const { body } = await ada.call('POST', path)
    await leave({ attempts: 1, fence: 1, endsIn: 15_000 })
    wrong.wake()
    await wrong.stop(none)
    t.match(await row(), { status: 'processing', fence: 1 })
    await leave({ attempts: 1, fence: 1, endsIn: 0 })
    wrong.gate.open()
    wrong.wake()
    t.match(await finishedExport(ada, body.id), { status: 'completed' })
    t.match(await row(), { attempts: 2, fence: 2, object_key: `${body.id}.2` })
  })
}
