import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { examine } from '../../src/service/commands/doctor.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { depth } from '../support/depth.ts'
import { createdExport } from '../support/exports.ts'
import { sweepAccounts } from '../support/sweeps.ts'
import { until } from '../support/until.ts'
import { testOnStores } from './exports-fixture.ts'

const path = '/api/v1/exports'

/** From now on, each write to the database or the store waits for some turns of the event loop before and after. */
function delaySteps({ context: { database, objects } }: TestApp, turns: number[]) {
  const { write } = database
  const { put, remove } = objects
  let [step, under] = [0, 0]
  const pause = async () => {
    for (let left = turns[step++ % turns.length] ?? 0; left > 0; left--) await eventLoopTurn()
  }
  const delayed =
    <Arguments extends unknown[], Result>(call: (...values: Arguments) => Promise<Result>) =>
    async (...values: Arguments): Promise<Result> => {
      under++
      try {
        await pause()
        return await call(...values)
      } finally {
        await pause()
        under--
      }
    }
  Object.assign(database, { write: delayed(write) })
  Object.assign(objects, { put: delayed(put), remove: delayed(remove) })
  return {
    /** Resolves after 20 turns of the event loop without a step. */
    async quiet(): Promise<void> {
      for (let turns = 0; turns < 20; turns++) {
        await eventLoopTurn()
        if (under > 0) turns = 0
      }
    },
    end(): void {
      Object.assign(database, { write })
      Object.assign(objects, { put, remove })
    },
  }
}

testOnStores(t, async (t, store) => {
  const env = await store.env(t)
  const operator = await store.operate(env)
  const app = await buildApp(t, env)
  const { db } = app.context.database
  const rowsOf = (userId: string) => db.selectFrom('exports').select('id').where('user_id', '=', userId).execute()
  const orders = fc.array(fc.nat({ max: 12 }), { minLength: 3, maxLength: 12 })
  const settings = { numRuns: depth(8, 400), endOnFailure: true }
  let people = 0

  for (const [title, remove] of [
    ['Nothing is left of a deleted account', (user) => user.call('DELETE', '/api/v1/account')],
    [
      'Nothing is left of a deleted export',
      async (user) => user.call('DELETE', `${path}/${(await rowsOf(user.userId))[0]?.id}`),
    ],
  ] satisfies [string, (user: Awaited<ReturnType<TestApp['user']>>) => Promise<{ status: number; body: unknown }>][]) {
    t.test(`${title}, no matter when the worker that makes its file is interrupted`, async (t) => {
      const property = fc.asyncProperty(orders, fc.nat({ max: 60 }), async (turns, wait) => {
        const user = await app.user(`person-${people++}`)
        const steps = delaySteps(app, turns)
        t.equal((await user.call('POST', path)).status, 201)
        for (let left = wait; left > 0; left--) await eventLoopTurn()
        const { status, body } = await remove(user)
        if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
        await until(async () => (await rowsOf(user.userId)).length === 0)
        await steps.quiet()
        // The worker may wait for longer than these turns between two steps.
        await until(async () => (await operator.objects()).length === 0 && (await operator.leftovers()).length === 0)
        steps.end()
      })
      await fc.assert(property, settings)
      t.pass()
    })
  }

  t.test('Doctor reports exports whose file is gone', async (t) => {
    const user = await app.user(`person-${people++}`)
    const [kept, lost] = [await createdExport(user), await createdExport(user)]
    const { dataDir, databaseUrl } = app.context.config
    const settings = { ...env, DATA_DIR: dataDir, DATABASE_URL: databaseUrl, PORT: '0', SERVE_APP: 'false' }
    const doctor = async () => (await examine(settings)).filter(({ about }) => about === 'exports')
    t.match(await doctor(), [{ state: 'ok', says: 'the files of 2 that were tried are there' }])
    await app.context.objects.remove(`${user.userId}.${lost.id}.1`)
    const says = /^(EXPORTS_DIR|S3_BUCKET): the files of 1 of 2 that were tried are not in /
    t.match(await doctor(), [{ state: 'warning', says }])
    for (const { id } of [kept, lost]) t.equal((await user.call('DELETE', `${path}/${id}`)).status, 200)
  })

  t.test("Deleting an account deletes its export key at once, and no other user's", async (t) => {
    const [ada, bob] = [await app.user('ada'), await app.user('bob')]
    const file = await createdExport(ada)
    const { remove } = app.context.objects
    t.teardown(() => Object.assign(app.context.objects, { remove }))
    app.context.objects.remove = async () => {
      throw new Error('the store is away')
    }
    t.equal((await ada.call('DELETE', '/api/v1/account')).status, 200)
    const keyOf = async (id: string) =>
      (await db.selectFrom('users').select('export_key_sealed').where('id', '=', id).executeTakeFirst())
        ?.export_key_sealed
    t.equal(await keyOf(ada.userId), '')
    t.not(await keyOf(bob.userId), '')
    await until(() => app.log.some((line) => line.includes('a deleted account could not be erased')))
    t.same(await operator.objects(), [`${ada.userId}.${file.id}.1`], 'its row still refers to the file')
    t.equal((await rowsOf(ada.userId)).length, 1)
    Object.assign(app.context.objects, { remove })
    await sweepAccounts(app.context)
    t.same([await operator.objects(), await rowsOf(ada.userId)], [[], []])
  })
})
