import t, { type Test } from 'tap'
import { createLimits } from '../../src/service/load/rates.ts'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { onRead } from '../support/database.ts'
import { createdExport, endLeases } from '../support/exports.ts'
import { holdClock } from '../support/intervals.ts'
import { until } from '../support/until.ts'

const list = '/api/v1/bookmarks'
const push = '/api/v1/sync/push'
const content = { encrypted_data: 'data', data_hash: 'hash' }
const pass = holdClock(t)

/** Limits of 60 requests a minute, one a second. `ask` returns 200, or the seconds of Retry-After. */
function openLimits() {
  const limits = createLimits({ rateLimitPerMinute: 60 })
  const ask = (cost = 1) => {
    try {
      limits.countUser('ada', cost)
      return 200
    } catch (error) {
      return Number((error as { headers: Record<string, string> }).headers['retry-after'])
    }
  }
  return { limits, ask }
}

t.test("A rate refills evenly, up to a minute's amount", async (t) => {
  const { ask } = openLimits()
  const times = (count: number) => Array.from({ length: count }, () => ask())
  t.same(times(62), [...Array(60).fill(200), 1, 1])
  pass(2)
  t.same(times(3), [200, 200, 1], 'one a second')
  pass(3600)
  t.same(times(61), [...Array(60).fill(200), 1])
})

t.test('A clock that is set back does not reduce a rate', async (t) => {
  const { ask } = openLimits()
  t.equal(ask(), 200)
  pass(-3600)
  t.equal(ask(), 200)
  pass(3600)
})

t.test('A request that costs more than is left succeeds, and later requests wait for it', async (t) => {
  const { limits, ask } = openLimits()
  t.equal(ask(59), 200)
  t.equal(ask(45), 200)
  t.equal(ask(), 45)
  for (let refused = 0; refused < 100; refused++) ask()
  pass(44)
  t.equal(ask(), 1, 'refused requests do not count')
  pass(1)
  t.equal(ask(), 200)
  t.equal(limits.spend('ada', 9), 10_000)
  t.ok(limits.isUsedUp('ada'))
  t.notOk(limits.isUsedUp('bob'))
  limits.spend('ada', 1e9)
  t.equal(ask(), 601, 'the wait is ten minutes at most')
})

/** The number of requests that a call counts as. */
async function costOf(t: Test, path: string, body?: object): Promise<number> {
  const app = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '50' })
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const { status } = await ada.call(body ? 'POST' : 'GET', path, { body })
  if (status >= 300) throw new Error(`status ${status}`)
  let left = 0
  while ((await ada.call('GET', '/api/v1/account/export-key')).status !== 429) left++
  t.equal((await bob.call('GET', list)).status, 200, 'another user has a separate rate')
  return 50 - left
}

t.test('A call counts as its x-cost', async (t) => {
  const changes = (count: number) =>
    Array.from({ length: count }, (_, index) => change({ entity_id: `b${index}`, encrypted_data: 'x' }))
  const bookmarks = Array.from({ length: 200 }, (_, index) => ({ id: `${index}`, ...content }))
  const costs = {
    create: await costOf(t, list, content),
    list: await costOf(t, list),
    status: await costOf(t, '/api/v1/sync/status'),
    pull: await costOf(t, '/api/v1/sync/pull', {}),
    'pull of 10,000': await costOf(t, '/api/v1/sync/pull', { limit: 10_000 }),
    'push of 99': await costOf(t, push, { changes: changes(99) }),
    'push of 100': await costOf(t, push, { changes: changes(100) }),
    'import of 200': await costOf(t, '/api/v1/sync/import', { bookmarks }),
    rewind: await costOf(t, '/api/v1/sync/rewind', { to: 0, dry_run: true }),
    'further rewind': await costOf(t, '/api/v1/sync/rewind', { to: 0, dry_run: true, cursor: '1/bookmark/b' }),
  }
  t.same(costs, {
    create: 1,
    list: 2,
    status: 4,
    pull: 2,
    'pull of 10,000': 11,
    'push of 99': 1,
    'push of 100': 2,
    'import of 200': 3,
    rewind: 45,
    'further rewind': 5,
  })
})

t.test('Each page of an export counts; further exports of the same user wait, those of others do not', async (t) => {
  const app = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '1000' })
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const { context } = app
  for (const user of [ada, bob]) await user.call('POST', list, { body: content })
  const { spend } = context.limits
  let spent = 0
  context.limits.spend = (userId, cost) => {
    spent += cost
    return spend(userId, cost)
  }
  t.equal((await createdExport(ada)).status, 'completed')
  t.ok(spent > 0 && spent < 1, `${spent}`)

  // Two exports run at a time, both of hers, until she has used up her rate.
  const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const restore = { bulk: context.database.bulk }
  let reads = 0
  onRead(
    context,
    async () => {
      if (++reads === 2) begun.resolve()
      await goOn.promise
    },
    'bulk',
  )
  const asked: string[] = []
  for (let count = 0; count < 3; count++) asked.push((await ada.call('POST', '/api/v1/exports')).body.id)
  await begun.promise
  spend(ada.userId, 2000)
  goOn.resolve()
  Object.assign(context.database, restore)
  t.equal((await createdExport(bob)).status, 'completed')
  const states = async () => {
    const rows = await context.database.db.selectFrom('exports').select(['id', 'status']).execute()
    return asked.map((id) => rows.find((row) => row.id === id)?.status)
  }
  await until(async () => (await states())[1] === 'completed')
  t.same(await states(), ['completed', 'completed', 'processing'], 'running exports are completed')

  pass(120)
  await until(async () => {
    await endLeases(context)
    context.exportWorker.wake()
    return (await states())[2] === 'completed'
  })
})
