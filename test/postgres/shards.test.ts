import pg from 'pg'
import t, { type Test } from 'tap'
import { operations } from '../../generated/operations.ts'
import { listAllExports } from '../../src/service/db/tables/exports.ts'
import { listSealed, sealedColumns } from '../../src/service/db/tables/sealed.ts'
import { reseal } from '../../src/service/upkeep/reseal.ts'
import { openDevice } from '../realtime/device.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { createdExport } from '../support/exports.ts'
import { holdIntervals } from '../support/intervals.ts'
import { keyringOf } from '../support/keyrings.ts'
import { recordStatements } from '../support/statements.ts'
import { sweepAccounts, sweepExports, sweepRows } from '../support/sweeps.ts'
import { until } from '../support/until.ts'
import { findAcross, findUnlisted, sentByShardsTest } from './shards/across.ts'
import { partition, readDefinitions } from './shards/partition.ts'
import { findFaults } from './shards/rules.ts'

t.test('Each key of a table that Citus distributes contains the distribution column', async (t) => {
  const { client, app } = await openEmpty(t)
  await app.close()
  t.same(findFaults(await readDefinitions(client)), [])
})

t.test('Each query for a user reaches a single shard', async (t) => {
  const { client, app: whole } = await openEmpty(t)
  await whole.close()
  await partition(client)
  const sent = recordStatements()
  const tick = holdIntervals(t)
  const app = await buildApp(t, {}, { dataDir: whole.dataDir })
  await useEverything(t, app, tick)
  t.ok(sent.size > 60, `${sent.size} statements`)
  t.same(await findUnlisted(client, sent), [], 'no statement but the listed ones reaches several shards')
  const across = await findAcross(client, sent)
  t.same(
    sentByShardsTest.filter((form) => !across.includes(form)),
    [],
    'each listed statement was sent',
  )
  const writes = [...sent.values()].map(({ text }) => text.trim()).filter((text) => !/^select/i.test(text))
  t.same(
    writes.filter((text) => /clock_timestamp|random\(|nextval/.test(text)),
    [],
    'no write calls a volatile function',
  )
  t.same(
    writes.filter((text) => /returning.*\w\(/s.test(text) && !/returning octet_length\([\w"]+\) as/.test(text)),
    [],
    'writes return only immutable expressions',
  )
})

/** An app on a new database, and a connection to that database. */
async function openEmpty(t: Test): Promise<{ client: pg.Client; app: TestApp }> {
  const app = await buildApp(t)
  const client = new pg.Client({ connectionString: app.context.config.databaseUrl })
  await client.connect()
  t.teardown(() => client.end())
  return { client, app }
}

/** Operations that are not called: a sign-in runs the queries of `app.user`, and the health is only a probe. */
const notCalled = ['completeLogin', 'getHealth', 'startLogin']

/** Two users call the operations, except `notCalled`. Then the sweeps run. */
async function useEverything(t: Test, app: TestApp, tick: (seconds: number) => void): Promise<void> {
  const { context, call } = app
  const { scrape } = openAdmin(t, app)
  const origin = await app.listen()
  const [ada, second, bob] = [await app.user('ada'), await app.user('ada'), await app.user('bob')]
  const device = await openDevice(t, origin, ada)
  for (let n = 0; n < 12; n++) await openDevice(t, origin, await app.user(`idle ${n}`))
  const phone = { headers: { 'x-device-id': 'phone' } }
  const push = (...changes: object[]) => ada.call('POST', '/api/v1/sync/push', { ...phone, body: { changes } })
  for (const path of ['auth/session', 'bookmarks', 'sync/status', 'account/export-key', 'exports'])
    await ada.call('GET', `/api/v1/${path}`)
  const { body: made } = await ada.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'x', data_hash: 'h' } })
  await ada.call('PUT', `/api/v1/bookmarks/${made.id}`, { body: { encrypted_data: 'y', data_hash: 'h2' } })
  await ada.call('GET', `/api/v1/bookmarks/${made.id}`)
  await ada.call('DELETE', `/api/v1/bookmarks/${made.id}`)
  await push(change({ entity_id: 'a' }), change({ entity_id: 'b' }), change({ entity_id: 'a', timestamp: 1 }))
  await push(
    change({ entity_id: 'a', timestamp: 1, device_id: 'tablet' }),
    change({ entity_id: 'b', operation: 'delete' }),
  )
  await push(change({ entity_id: 'a', timestamp: Date.now() + 1000 }))
  await ada.call('POST', '/api/v1/sync/import', {
    ...phone,
    body: { bookmarks: ['c', 'd'].map((id) => ({ id, encrypted_data: 'x', data_hash: 'h' })) },
  })
  for (const headers of [{}, phone.headers, { 'x-device-id': 'tablet' }]) {
    await ada.call('POST', '/api/v1/sync/pull', { headers, body: {} })
    await ada.call('GET', '/api/v1/sync/status', { headers })
    await ada.call('POST', '/api/v1/sync/pull', { headers, body: { entity_types: ['group'] } })
    await ada.call('GET', '/api/v1/sync/status?entity_types=group', { headers })
  }
  await ada.call('GET', '/api/v1/bookmarks?limit=1&page=2')
  await device.takeEntities('d')
  device.send({ type: 'sync', event: change({ entity_id: 'e', device_id: 'device-b' }) })
  await device.takeEntities('e')
  tick(30)
  await useHistory(ada, made.id)
  await ada.call('PUT', '/api/v1/account/keyring', { body: { keyring: keyringOf('k'), revision: 1 } })
  await ada.call('PUT', '/api/v1/account/keyring', { body: { keyring: keyringOf('l'), revision: 2 } })
  await ada.call('GET', '/api/v1/account/keyring')
  const { versions } = (await ada.call('GET', '/api/v1/account/keyring/versions')).body
  await ada.call('POST', `/api/v1/account/keyring/versions/${versions[0].id}/restore`)
  await ada.call('DELETE', '/api/v1/account/keyring/versions')
  await ada.call('PUT', '/api/v1/account/export-key', { body: { key: Buffer.alloc(32, 1).toString('base64') } })
  const { id } = await createdExport(ada)
  await ada.call('GET', `/api/v1/exports/${id}`)
  await ada.call('DELETE', `/api/v1/exports/${id}`)
  await createdExport(ada)
  await context.database.db
    .updateTable('logins')
    .set({ provider_token_sealed: 'x' })
    .where('user_id', '=', ada.userId)
    .execute()
  await Promise.all([ada, second, bob].map((user) => user.call('POST', '/api/v1/sync/pull', phone)))
  await call('POST', '/api/v1/auth/refresh', { headers: { cookie: `service_refresh=${second.refresh}` } })
  await call('POST', '/api/v1/auth/refresh', { headers: { cookie: `service_refresh=${bob.refresh}` } })
  const stale = { cookie: `service_session=${'A'.repeat(43)}; service_session=${ada.session}` }
  t.equal((await call('GET', '/api/v1/bookmarks', { headers: stale })).status, 200)
  const twoLogins = { cookie: [second, ada].map(({ session }) => `service_session=${session}`).join('; ') }
  t.equal((await call('GET', '/api/v1/bookmarks', { headers: twoLogins })).status, 200)
  await call('POST', '/api/v1/auth/logout', { headers: stale })
  await reseal(context.database, [Buffer.alloc(32, 7)]).catch(() => {})
  for (const column of sealedColumns) await listSealed(context.database.db, column, undefined, 1)
  await sweepExports(context)
  const third = await app.user('ada')
  for (const path of ['account', 'account/sessions', 'account/devices']) await third.call('GET', `/api/v1/${path}`)
  await third.call('PUT', '/api/v1/account/devices/tablet', { body: { encrypted_name: 'AbCd' } })
  await third.call('DELETE', '/api/v1/account/devices/tablet')
  await third.call('DELETE', `/api/v1/account/sessions/${second.loginId}`)
  await third.call('DELETE', '/api/v1/account/sessions')
  const pairing = '/api/v1/account/pairings/code'
  await third.call('PUT', pairing, { body: { step: 0, message: 'AbCd' } })
  await call('POST', `${pairing}/reservation`, { body: { user_id: third.userId } })
  await third.call('PUT', pairing, { body: { step: 1, message: 'AbCd' } })
  await third.call('GET', pairing)
  await third.call('DELETE', pairing)
  await createdExport(third)
  t.equal((await third.call('DELETE', '/api/v1/account')).status, 200)
  await until(async () => (await listAllExports(context.database.db, ada.userId)).length === 0)
  const answered = (await scrape()).families.get('ebs_http_requests_total')?.samples ?? []
  const used = new Set(answered.flatMap(({ labels }) => (Number(labels.status) < 300 ? labels.operation : [])))
  t.same(
    Object.keys(operations)
      .filter((operation) => !used.has(operation))
      .sort(),
    notCalled,
    'every other operation was answered',
  )
  const later = Date.now() + 500 * 86_400_000
  app.setClock(later)
  await sweepAccounts(context)
  await sweepExports(context)
  await sweepRows(context.database, later)
}

/** Uses the history of a bookmark that was changed and deleted. */
async function useHistory({ call }: TestUser, id: string): Promise<void> {
  const loser = change({ entity_id: 'd', timestamp: 1, device_id: 'tablet' })
  await call('POST', '/api/v1/sync/push', { body: { changes: [loser] } })
  for (const path of [`bookmarks/${id}/versions`, 'trash', 'sync/conflicts']) await call('GET', `/api/v1/${path}`)
  await call('POST', `/api/v1/bookmarks/${id}/restore`)
  await call('DELETE', `/api/v1/bookmarks/${id}`)
  const { conflicts } = (await call('GET', '/api/v1/sync/conflicts')).body
  await call('DELETE', `/api/v1/sync/conflicts/${conflicts[0].version_id}`)
  const { last_sync_timestamp: to } = (await call('POST', '/api/v1/sync/pull', { body: {} })).body
  const later = change({ entity_id: 'd', operation: 'update', timestamp: Date.now() + 2000 })
  await call('POST', '/api/v1/sync/push', { body: { changes: [later] } })
  for (const dry_run of [true, false]) await call('POST', '/api/v1/sync/rewind', { body: { to, dry_run } })
  await call('DELETE', `/api/v1/bookmarks/${id}`)
  await call('DELETE', `/api/v1/trash/${id}`)
}
