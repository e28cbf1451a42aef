import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startExportWorker } from '../../src/service/exports/worker.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { isPostgres } from '../support/database-url.ts'
import { createdExport, endLeases, endWaits, finishedExport } from '../support/exports.ts'
import { holdIntervals } from '../support/intervals.ts'
import { until } from '../support/until.ts'
import { path } from './exports-fixture.ts'

// With stopped intervals, an idle instance looks for jobs only after a notice, or when a test lets time pass.
const pass = holdIntervals(t)
/** The seconds after a start in which an instance looks for jobs more often. */
const startSeconds = 15

t.test('A job that its instance has no room for is claimed by an idle one, on a notice', async (t) => {
  const { bob } = await openBusy(t)
  t.match(await createdExport(bob), { status: 'completed' })
})

t.test('A job whose notice was lost is found within 30 s', async (t) => {
  const { busy, bob, idle } = await openBusy(t)
  busy.context.notices.publishJob = () => {}
  const { body } = await bob.call('POST', path)
  const attempts = () => busy.context.database.db.selectFrom('exports').select('attempts').where('id', '=', body.id)
  pass(10)
  await idle.stop('none')
  t.match(await attempts().execute(), [{ attempts: 0 }])
  pass(5)
  t.match(await finishedExport(bob, body.id), { status: 'completed' })
})

t.test('Jobs of an instance that stops are claimed by an idle one, on a notice', async (t) => {
  const { busy, ada, jobs } = await openBusy(t)
  await busy.context.exportWorker.close()
  for (const id of jobs) t.match(await finishedExport(ada, id), { status: 'completed' })
  const attempts = await busy.context.database.db.selectFrom('exports').select(['attempts', 'fence']).execute()
  t.same(attempts, Array(2).fill({ attempts: 1, fence: 2 }), 'each once')
})

t.test('An instance that was killed and started again takes up its job within 15 s', async (t) => {
  const { context, user } = await buildApp(t)
  const { database, exportWorker } = context
  await exportWorker.close()
  const ada = await user('ada')
  const { body } = await ada.call('POST', path)
  const lease_until = sql<number>`${database.now} + 15000`
  await database.db.updateTable('exports').set({ attempts: 1, fence: 1, lease_until }).execute()
  const restarted = startExportWorker(context)
  t.teardown(() => restarted.close())
  await restarted.stop('none')
  await endLeases(context)
  pass(startSeconds)
  t.match(await finishedExport(ada, body.id), { status: 'completed' })
})

t.test('An instance that had to return a job takes it again', async (t) => {
  const { context, user } = await buildApp(t)
  pass(startSeconds)
  const ada = await user('ada')
  const { put } = context.objects
  context.objects.put = () => Promise.reject(new Error('disk full'))
  const { body } = await ada.call('POST', path)
  await until(() => context.exportWorker.outcomes().failed === 1)
  context.objects.put = put
  await context.exportWorker.stop('none')
  await endWaits(context)
  pass(5)
  t.match(await finishedExport(ada, body.id), { status: 'completed' })
})

/** An instance that works on two exports of ada until it stops, and another's worker. On SQLite both are one. */
async function openBusy(t: Test) {
  const busy = await buildApp(t)
  const { context } = busy
  const objects = { ...context.objects }
  // It looks for jobs at its start. On a slow machine, it would find that the leases of ada's exports have expired.
  const idle = isPostgres ? await otherInstance(t, busy) : startExportWorker({ ...context, objects })
  t.teardown(() => idle.close())
  pass(startSeconds)
  await idle.stop('none')
  const [ada, bob] = [await busy.user('ada'), await busy.user('bob')]
  let held = 0
  context.objects.put = (_key, _exportKey, _content, signal) => {
    held++
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const jobs = [await order(ada), await order(ada)]
  await until(() => held === 2)
  return { busy, ada, bob, jobs, idle }
}

async function otherInstance(t: Test, { context: { notices }, dataDir }: TestApp) {
  const { context } = await buildApp(t, {}, { dataDir })
  // The instance misses notices until it listens.
  await until(() => {
    notices.publishJob()
    return context.notices.counts().received > 0
  })
  // Notices arrive in order: after this one, it has received all earlier ones.
  const heard = Promise.withResolvers<void>()
  const following = context.notices.follow('somebody', heard.resolve)
  await following.ready
  notices.publishChange('somebody')
  await heard.promise
  following.stop()
  return context.exportWorker
}

async function order(user: TestUser): Promise<string> {
  const { body } = await user.call('POST', path)
  return body.id
}
