import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { saveRecords } from '../../src/service/db/tables/records.ts'
import { startExportWorker } from '../../src/service/exports/worker.ts'
import { bookmark, openFile } from '../exports/fixture.ts'
import { buildApp } from '../support/app.ts'
import { databaseUrl } from '../support/database-url.ts'
import { isDeep } from '../support/depth.ts'
import { endLeases, finishedExport } from '../support/exports.ts'
import { folder, type Service, startService } from '../support/service.ts'
import { type Operator, type TestStore, testOnEachStore } from '../support/stores.ts'
import { sweepExports } from '../support/sweeps.ts'
import { until } from '../support/until.ts'

const path = '/api/v1/exports'
const hour = 3_600_000

testOnEachStore(t, (t, store) => {
  t.test('Three instances with clocks hours apart race for twelve exports, and each is made once', async (t) => {
    const env = await store.env(t)
    const operator = await store.operate(env)
    const first = await buildApp(t, env)
    const others = [await buildApp(t, env, first), await buildApp(t, env, first)] as const
    others[0].setClock(Date.now() + hour)
    others[1].setClock(Date.now() - hour)
    const users = await Promise.all(['ada', 'bob', 'cyd', 'dan'].map((name) => first.user(name)))
    const instances = [first, ...others]
    const asked = await Promise.all(
      users.flatMap(({ cookie }) =>
        instances.map(async ({ call }) => {
          const { status, body } = await call('POST', path, { headers: { cookie } })
          t.equal(status, 201, body.error)
          return body.id
        }),
      ),
    )
    for (const user of users) {
      for (const { id } of (await user.call('GET', path)).body.exports) {
        t.match(await finishedExport(user, id), { status: 'completed' })
      }
    }
    const rows = await first.context.database.db.selectFrom('exports').select(['attempts', 'fence']).execute()
    t.strictSame(
      rows,
      asked.map(() => ({ attempts: 1, fence: 1 })),
    )
    const ofExports = (await operator.objects()).map((key) => key.split('.').slice(1).join('.'))
    t.strictSame(ofExports.sort(), asked.map((id) => `${id}.1`).sort())
    t.strictSame(await operator.leftovers(), [])
  })

  for (const isSwept of isDeep ? [true, false] : [true]) {
    const after = isSwept ? 'after the sweep' : 'before the sweep'
    t.test(`A process paused beyond its lease goes on ${after}: one export file, one winner`, async (t) => {
      const { app, ada, operator, paused } = await build(t, store)
      const { body } = await paused.as(ada).call('POST', path)
      const { id } = body
      await stopWithinFile(paused, operator)

      await endLeases(app.context)
      const winner = startExportWorker(app.context)
      t.teardown(() => winner.close())
      t.match(await finishedExport(ada, id), { status: 'completed' })
      const row = () => app.context.database.db.selectFrom('exports').selectAll().executeTakeFirstOrThrow()
      const won = await row()
      t.match(won, { attempts: 2, fence: 2, object_key: `${ada.userId}.${id}.2` })
      t.strictSame(await operator.leftovers(), [`${ada.userId}.${id}.1`], 'the paused half is still there')
      if (isSwept) await sweepExports(app.context)
      t.strictSame(await operator.leftovers(), isSwept ? [] : [`${ada.userId}.${id}.1`])

      process.kill(paused.pid, 'SIGCONT')
      await until(async () => (await operator.leftovers()).length === 0 && (await operator.objects()).length === 1)
      t.same(await paused.kill('SIGTERM'), { code: 0, signal: null })
      await sweepExports(app.context)
      t.strictSame(await row(), won, "the paused instance's late result changes nothing")
      t.strictSame([await operator.objects(), await operator.leftovers()], [[`${ada.userId}.${id}.2`], []])
      const key = Buffer.from((await ada.call('GET', '/api/v1/account/export-key')).body.key, 'base64')
      const { bookmarks } = JSON.parse(await openFile((await ada.call('GET', `${path}/${id}`)).raw, key))
      t.equal(new Set(bookmarks.map((each: { id: string }) => each.id)).size, count)
    })
  }
})

const count = 120

/** An instance without a worker and a service in a separate process, on one database and one store. */
async function build(t: Test, store: TestStore) {
  const dataDir = await folder(t)
  const env = { ...(await store.env(t)), DATABASE_URL: await databaseUrl(dataDir) }
  const app = await buildApp(t, env, { dataDir })
  await app.context.exportWorker.close()
  const ada = await app.user('ada')
  // Enough bookmarks that an export takes a while.
  for (let first = 0; first < count; first += 40) {
    const rows = Array.from({ length: 40 }, (_, index) => bookmark(ada.userId, first + index, 'x'.repeat(262_144)))
    await app.context.database.write((trx) => saveRecords(trx, rows))
  }
  return { app, ada, operator: await store.operate(env), paused: await startService(t, dataDir, env) }
}

async function stopWithinFile({ pid }: Service, operator: Operator): Promise<void> {
  while ((await operator.leftovers()).length === 0) {
    if ((await operator.objects()).length > 0) throw new Error('the export was made too fast to be stopped')
    await sleep(1)
  }
  process.kill(pid, 'SIGSTOP')
}
