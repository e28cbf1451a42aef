import t from 'tap'
import { done } from '../../src/service/operations/operation.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { pullAll } from '../support/changes.ts'
import { findStored } from '../support/database.ts'
import { sharedUser } from '../support/shared-app.ts'

const content = { encrypted_data: 'data', data_hash: 'hash' }
const edited = { encrypted_data: 'edited', data_hash: 'edited' }
const clocked = await buildApp(t)
const only = async (user: TestUser) => (await pullAll(user)).changes[0]

t.test('PUT changes a live bookmark; DELETE deletes it and keeps its record', async (t) => {
  const { user, context, setClock } = clocked
  setClock(1_800_000_000_000)
  const ada = await user('ada')
  const created = await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'x', ...content } })
  t.equal(created.status, 201)
  const first = { id: 'x', ...content, created_at: 1_800_000_000_000, updated_at: 1_800_000_000_000, deleted_at: null }
  t.same(created.body, first)

  setClock(1_800_000_000_500)
  const updated = await ada.call('PUT', '/api/v1/bookmarks/x', { body: edited })
  const second = { ...first, ...edited, updated_at: 1_800_000_000_500 }
  t.same({ status: updated.status, body: updated.body }, { status: 200, body: second })
  t.same((await ada.call('GET', '/api/v1/bookmarks/x')).body, second)

  setClock(1_800_000_000_900)
  const deleted = await ada.call('DELETE', '/api/v1/bookmarks/x')
  t.same({ status: deleted.status, body: deleted.body }, { status: 200, body: done })
  t.equal((await ada.call('GET', '/api/v1/bookmarks/x')).status, 404)
  t.same((await ada.call('GET', '/api/v1/bookmarks')).body.data, [])
  t.match(
    await findStored(context, ada.userId),
    { ...edited, created_at: first.created_at, deleted_at: 1_800_000_000_900 },
    'the record is kept',
  )
})

t.test('A REST write is a change with operation, device_id, timestamp and a new event id', async (t) => {
  const { user, setClock } = clocked
  const now = 1_800_000_000_000
  setClock(now)
  const ada = await user('ada events')
  const headers = { 'x-device-id': 'phone' }
  const ids = new Set<string>()
  const sees = async (expected: object, what: string) => {
    const event = await only(ada)
    ids.add(event?.id ?? '')
    t.match(event, { entity_type: 'bookmark', entity_id: 'x', user_id: ada.userId, ...expected }, what)
  }
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'x', ...content }, headers })
  await sees({ operation: 'create', device_id: 'phone', timestamp: now, ...content, conflict_resolved: false }, 'POST')
  await ada.call('PUT', '/api/v1/bookmarks/x', { body: edited, headers })
  await sees({ operation: 'update', device_id: 'phone', timestamp: now + 1, ...edited }, 'PUT')
  await ada.call('DELETE', '/api/v1/bookmarks/x')
  await sees({ operation: 'delete', device_id: 'unknown', timestamp: now + 2, data_hash: 'edited' }, 'DELETE')
  t.equal(ids.size, 3)
})

t.test('For a POST without an id, the server makes a new UUIDv7 each time', async (t) => {
  const ada = await sharedUser()
  const ids = new Set<string>()
  for (let count = 0; count < 20; count += 1) {
    const { body } = await ada.call('POST', '/api/v1/bookmarks', { body: content })
    t.match(body.id, /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    ids.add(body.id)
  }
  t.equal(ids.size, 20)
})

t.test('Of 20 parallel POSTs of one id, one gets 201, the others 409', async (t) => {
  const ada = await sharedUser()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => ada.call('POST', '/api/v1/bookmarks', { body: { id: 'x', ...content } })),
  )
  const statuses = answers.map(({ status }) => status).sort()
  t.same(statuses, [201, ...Array.from({ length: 19 }, () => 409)])
  t.equal((await ada.call('GET', '/api/v1/sync/status')).body.total_bookmarks, 1)
})
