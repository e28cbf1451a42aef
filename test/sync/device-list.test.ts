import t from 'tap'
import { change } from '../support/changes.ts'
import { sharedApp } from '../support/shared-app.ts'

const path = '/api/v1/account/devices'

t.test('A user sees the devices that have synced, what each has not pulled yet, and forgets one', async (t) => {
  const app = await sharedApp()
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const as = (id: string) => ({ headers: { 'x-device-id': id } })
  const push = (device_id: string, ...ids: string[]) => {
    const changes = ids.map((entity_id) => change({ entity_id, device_id }))
    return ada.call('POST', '/api/v1/sync/push', { ...as(device_id), body: { changes } })
  }
  const list = async (query = '') => (await ada.call('GET', path + query, as('phone'))).body
  t.same(await list(), { devices: [], next: null })

  const before = Date.now()
  await push('phone', 'a', 'b')
  await ada.call('POST', '/api/v1/sync/pull', as('laptop'))
  await push('laptop', 'c')
  await push('phone', 'd')
  const { devices } = await list()
  t.same(
    devices.map(({ last_seen, ...device }: { last_seen: number }) => ({ ...device, isNow: last_seen >= before })),
    [
      { id: 'laptop', pending_changes: 1, current: false, isNow: true },
      { id: 'phone', pending_changes: 1, current: true, isNow: true },
    ],
  )
  for (const id of ['laptop', 'phone']) {
    const { pending_changes } = (await ada.call('GET', '/api/v1/sync/status', as(id))).body
    t.equal(pending_changes, 1, 'the status agrees')
  }
  const first = await list('?limit=1')
  t.same([first.devices[0].id, first.next], ['laptop', 'laptop'])
  const second = await list(`?limit=1&after=${first.next}`)
  t.same([second.devices[0].id, second.next], ['phone', null])

  const foreign = await bob.call('DELETE', `${path}/laptop`)
  t.same([foreign.status, foreign.body], [404, { error: 'Device not found' }])
  t.equal((await ada.call('DELETE', `${path}/laptop`)).status, 200)
  t.equal((await ada.call('DELETE', `${path}/laptop`)).status, 404)
  t.same((await list()).devices.length, 1)
  const again = await ada.call('GET', '/api/v1/sync/status', as('laptop'))
  t.same([again.body.last_sync, again.body.pending_changes], [0, 3], 'it begins anew')
  t.equal((await ada.call('GET', '/api/v1/bookmarks')).body.meta.total, 4, 'what it made stays')

  const content = { encrypted_data: 'data', data_hash: 'hash' }
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'e', ...content } })
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: [{ id: 'f', ...content }] } })
  await ada.call('POST', '/api/v1/sync/pull')
  t.equal((await list()).devices.length, 1, 'requests without a device id are of none')
})
