import { mock } from 'node:test'
import t from 'tap'
import { sweepRows } from '../../src/db/sweep.ts'
import { buildApp } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'

const dayMs = 86_400_000

t.test('The hourly sweep: expired tokens, ended logins, old devices and rejections are removed', async (t) => {
  const { user, context, setClock } = await buildApp(t)
  const { database } = context
  const start = Date.now()
  const count = async (table: 'tokens' | 'logins' | 'devices' | 'rejections' | 'users' | 'records') => {
    const query = database.db.selectFrom(table).select(({ fn }) => fn.countAll<number>().as('count'))
    return (await query.executeTakeFirstOrThrow()).count
  }
  const sweepAfter = async (days: number) => {
    await sweepRows(database, start + days * dayMs)
    return { tokens: await count('tokens'), logins: await count('logins') }
  }

  setClock(start)
  const ada = await user('ada')
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: 'x', timestamp: start })] } })
  const loser = change({ entity_id: 'x', timestamp: start - 1, device_id: 'device-b' })
  await ada.call('POST', '/api/v1/sync/push', { body: { changes: [loser] } })
  await pullAll(ada, { headers: { 'x-device-id': 'device-c' } })
  t.same([await count('devices'), await count('rejections')], [3, 1])

  t.same(await sweepAfter(0), { tokens: 2, logins: 1 }, 'what is still valid stays')
  t.same(await sweepAfter(7), { tokens: 1, logins: 1 }, 'a session token ends after 7 days, its login does not')
  t.equal(await count('rejections'), 1)
  setClock(start + 8 * dayMs)
  const bob = await user('bob')
  t.same(await sweepAfter(30), { tokens: 1, logins: 1 }, 'after 30 days the refresh token ends, and the login with it')
  t.equal(await count('users'), 2, 'its user stays')
  t.same(await database.db.selectFrom('logins').select('user_id').execute(), [{ user_id: bob.userId }])

  await sweepAfter(90)
  t.equal(await count('rejections'), 1, 'a rejection stays for 90 days')
  await sweepRows(database, start + 90 * dayMs + 1)
  t.equal(await count('rejections'), 0)
  await sweepAfter(400)
  t.equal(await count('devices'), 3, 'a device for 400 days without a sync')
  await sweepRows(database, start + 400 * dayMs + 1)
  t.equal(await count('devices'), 0)
  t.equal(await count('records'), 1, 'bookmarks always stay')
})

t.test('It runs at the start', async (t) => {
  const first = await buildApp(t)
  first.setClock(Date.now() - 31 * dayMs)
  await first.user('ada')
  await first.close()
  const { context } = await buildApp(t, {}, { dataDir: first.dataDir })
  const left = async () => (await context.database.db.selectFrom('logins').selectAll().execute()).length
  while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  t.equal(await left(), 0)
})

t.test('And then hourly', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { context, user, setClock } = await buildApp(t)
  const left = async () => (await context.database.db.selectFrom('logins').selectAll().execute()).length
  for (let days = 31; days <= 62; days += 31) {
    await user('ada')
    setClock(Date.now() + days * dayMs)
    mock.timers.tick(3_600_000)
    while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  t.equal(await left(), 0)
})
