import t, { type Test } from 'tap'
import { buildApp } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { countRows } from '../support/database.ts'
import { openDevice } from './device.ts'

const own = (fields: Parameters<typeof change>[0]) => change({ device_id: 'device-b', ...fields })

/** A user at the limit of records, with a bookmark `old`, on two devices. */
async function open(t: Test) {
  const app = await buildApp(t, { MAX_USER_RECORDS: '1', MAX_USER_BYTES: '10' })
  const origin = await app.listen()
  const ada = await app.user('ada')
  const changes = [change({ entity_id: 'old', timestamp: 1000, encrypted_data: 'x'.repeat(10) })]
  await ada.call('POST', '/api/v1/sync/push', { body: { changes } })
  const device = await openDevice(t, origin, ada)
  return { app, ada, device, other: await openDevice(t, origin, ada, { deviceId: 'device-c' }) }
}

t.test('A change beyond the quota comes back as an error that names the entity; the socket stays open', async (t) => {
  const { app, ada, device } = await open(t)
  const [before, { changes }] = [await countRows(app.context), await pullAll(ada)]
  device.send({ type: 'sync', event: own({ entity_id: 'new', encrypted_data: 'x' }) })
  t.same(await device.next(), { type: 'error', error: 'bookmark new: Storage quota exceeded' })
  device.send({ type: 'sync', event: own({ entity_id: 'old', encrypted_data: 'x'.repeat(11) }) })
  t.same(await device.next(), { type: 'error', error: 'bookmark old: Storage quota exceeded' })
  t.same(await countRows(app.context), before, 'nothing is applied')
  t.same((await pullAll(ada)).changes, changes)
  device.send({ type: 'sync', event: own({ entity_id: 'old', encrypted_data: 'x'.repeat(9) }) })
  t.match(await device.nextSync(), { event: { entity_id: 'old', encrypted_data: 'x'.repeat(9) } })
  t.notMatch(app.log.join(''), /"level":50/, "it is not the service's fault")
})

t.test('A delete without room for its tombstone is acknowledged, and is not broadcast', async (t) => {
  const { app, ada, device, other } = await open(t)
  const before = await countRows(app.context)
  const { cursor } = await pullAll(ada)
  const event = own({ entity_id: 'unknown', operation: 'delete' })
  for (const _ of ['once', 'and again']) {
    device.send({ type: 'sync', event })
    const { stamp, event: answered } = await device.nextSync()
    t.same(answered, { ...event, user_id: ada.userId, conflict_resolved: false, resolution_strategy: null })
    t.equal(stamp, cursor, 'with a stamp from which nothing is missed')
  }
  t.same((await countRows(app.context)).records, before.records)
  device.send({ type: 'sync', event: own({ entity_id: 'old', operation: 'delete' }) })
  t.same(await device.takeEntities('old'), ['old'])
  t.same(await other.takeEntities('old'), ['old'])
})
