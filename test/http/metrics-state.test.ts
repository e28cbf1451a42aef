import t from 'tap'
import { ObjectStoreUnavailableError } from '../../src/service/objects/store.ts'
import { startHealth } from '../../src/service/operating/health.ts'
import { createMetrics } from '../../src/service/operating/metrics.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { breakDatabase } from '../support/database.ts'
import { isPostgres } from '../support/database-url.ts'
import { until } from '../support/until.ts'

const exports = '/api/v1/exports'
const none = { pending: 0, processing: 0, failed: 0 }

/** Each call makes the figures expire that a scrape cached from the database. */
function laterScrapes({ setClock }: TestApp): () => void {
  let now = Date.now()
  setClock(now)
  return () => {
    now += 5_000
    setClock(now)
  }
}

t.test('Exports: those that are not completed by status, and how attempts ended', async (t) => {
  const app = await buildApp(t)
  const { scrape, scrapeUntil } = openAdmin(t, app)
  const later = laterScrapes(app)
  const ada = await app.user('ada')
  const attempts = 'ebs_export_attempts_total'
  const before = await scrape()
  t.same(before.byLabel('ebs_exports'), none)
  t.same(before.byLabel(attempts), { completed: 0, failed: 0, postponed: 0, dropped: 0 })

  await ada.call('POST', exports)
  await scrapeUntil((metrics) => metrics.byLabel(attempts).completed === 1)
  later()
  t.same((await scrape()).byLabel('ebs_exports'), none, 'one that is completed is not counted')

  const { put } = app.context.objects
  const reached = Promise.withResolvers<void>()
  app.context.objects.put = (_key, _exportKey, _content, signal) => {
    reached.resolve()
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const { body: dropped } = await ada.call('POST', exports)
  await reached.promise
  later()
  t.same((await scrape()).byLabel('ebs_exports'), { ...none, processing: 1 })
  await ada.call('DELETE', `${exports}/${dropped.id}`)
  t.equal((await scrape()).byLabel(attempts).dropped, 1)

  app.context.objects.put = () => Promise.reject(new ObjectStoreUnavailableError())
  await ada.call('POST', exports)
  await scrapeUntil((metrics) => Number(metrics.byLabel(attempts).postponed) >= 1)
  app.context.objects.put = () => Promise.reject(new Error('disk'))
  await ada.call('POST', exports)
  await scrapeUntil((metrics) => Number(metrics.byLabel(attempts).failed) >= 1)
  later()
  t.same((await scrape()).byLabel('ebs_exports'), { ...none, pending: 2 })
  await app.context.database.db
    .updateTable('exports')
    .where('status', '=', 'pending')
    .set({ status: 'failed' })
    .execute()
  later()
  t.same((await scrape()).byLabel('ebs_exports'), { ...none, failed: 2 })
  app.context.objects.put = put
})

t.test('Exports are counted at most once in 5 s, however often somebody scrapes', async (t) => {
  const app = await buildApp(t)
  await app.context.exportWorker.close()
  const { scrape } = openAdmin(t, app)
  const later = laterScrapes(app)
  const ada = await app.user('ada')
  later()
  await scrape()
  await ada.call('POST', exports)
  t.same((await scrape()).byLabel('ebs_exports'), none)
  later()
  const both = await Promise.all([scrape(), scrape()])
  for (const metrics of both) t.same(metrics.byLabel('ebs_exports'), { ...none, processing: 1 })
})

t.test('When the database fails, only its own figures are missing', async (t) => {
  const app = await buildApp(t)
  const { scrape } = openAdmin(t, app)
  const later = laterScrapes(app)
  const repair = breakDatabase(app.context)
  const broken = await scrape()
  t.same(broken.byLabel('ebs_exports'), {})
  t.equal(broken.value('ebs_realtime_sockets'), 0)
  t.match(app.log.join(''), /disk I\/O error.*exports could not be counted/, 'which is logged with its cause')
  repair()
  later()
  t.same((await scrape()).byLabel('ebs_exports'), none)
})

t.test('The database: connections in use, and what waits for one', async (t) => {
  const app = await buildApp(t)
  const { scrapeUntil } = openAdmin(t, app)
  const { write } = app.context.database
  const writing = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  const hold = () =>
    write(async () => {
      writing.resolve()
      await finish.promise
    })
  const first = hold()
  await writing.promise
  const others = Array.from({ length: 40 }, hold)
  const waiting = isPostgres ? 21 : 40
  const busy = isPostgres ? 20 : 1
  const metrics = await scrapeUntil((metrics) => metrics.byLabel('ebs_database_connections').busy === busy)
  t.ok(Number(metrics.value('ebs_database_queue_length')) >= waiting, `${metrics.value('ebs_database_queue_length')}`)
  t.equal(metrics.byLabel('ebs_database_connections').idle, 0)
  t.same(metrics.byLabel('ebs_exports'), {}, 'a database that does not respond is not waited for')
  finish.resolve()
  await Promise.all([first, ...others])
  const after = await scrapeUntil((metrics) => metrics.byLabel('ebs_database_connections').busy === 0)
  t.equal(after.value('ebs_database_queue_length'), 0)
  t.ok(Number(after.byLabel('ebs_database_connections').idle) > 0)
})

t.test('Health, by component', async (t) => {
  const app = await buildApp(t)
  const probe = async () => {
    const health = startHealth(app.context)
    await health.close()
    const { scrape } = openAdmin(t, { context: { ...app.context, health, metrics: createMetrics() } })
    return (await scrape()).byLabel('ebs_component_up')
  }
  t.same(await probe(), { database: 1, objects: 1, provider: 0 }, "the tests' provider is never reached")
  app.context.objects.probe = () => Promise.reject(new Error('gone'))
  const repair = breakDatabase(app.context)
  t.same(await probe(), { database: 0, objects: 0, provider: 0 })
  repair()
})

t.test(
  "How far the machine's clock is from the database's; the log says when it is too far, and when no longer",
  async (t) => {
    const { context, log } = await buildApp(t)
    const ahead = { seconds: 90 }
    const database = { probe: async () => Date.now() - ahead.seconds * 1000 }
    const health = startHealth({ ...context, database })
    t.teardown(() => health.close())
    const { scrape } = openAdmin(t, { context: { ...context, health, metrics: createMetrics() } })
    const drift = async () => Math.round(Number((await scrape()).value('ebs_clock_drift_seconds')))
    await until(async () => (await drift()) === 90)
    ahead.seconds = -3
    await until(async () => (await drift()) === -3)
    const said = log.map((line) => JSON.parse(line).msg).filter((message) => message.includes('clock'))
    t.same(said, [
      "this machine's clock is 90 s ahead of the database's: synchronize both clocks; until then nothing is swept",
      'the clocks of this machine and the database agree again',
    ])
  },
)
