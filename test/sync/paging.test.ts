import t from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, importMany, pullAll, push } from '../support/changes.ts'
import { onRead, watchReads } from '../support/database.ts'
import { pick } from '../support/pick.ts'
import { sharedUser } from '../support/shared-app.ts'

const content = { encrypted_data: 'data', data_hash: 'hash' }
const idOf = (index: number) => `bookmark-${String(index).padStart(5, '0')}`

async function importEqualDates(user: TestUser, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => idOf(index))
  const bookmarks = ids.map((id) => ({ id, ...content, date_added: 1_700_000_000, date_modified: 1_700_000_000 }))
  await importMany(user, bookmarks)
  return ids
}
t.test('A pull uses since and limit, and returns has_more and last_sync_timestamp', async (t) => {
  const ada = await sharedUser()
  const pull = async (body?: object) => {
    const { epoch: _, ...page } = (await ada.call('POST', '/api/v1/sync/pull', body && { body })).body
    return page
  }
  t.same(await pull(), { changes: [], last_sync_timestamp: 0, has_more: false }, 'without changes, the cursor is 0')
  await push(ada, ...['a', 'b', 'c'].map((id) => change({ entity_id: id })))
  const first = await pull({ limit: 2 })
  t.match(first, { changes: [{ entity_id: 'a' }, { entity_id: 'b' }], has_more: true })
  const second = await pull({ since: first.last_sync_timestamp, limit: 1 })
  t.match(second, { changes: [{ entity_id: 'c' }], has_more: false }, 'a pull with since returns the changes after it')
  const end = second.last_sync_timestamp
  t.ok(end > first.last_sync_timestamp)
  t.same(await pull({ since: end }), { changes: [], last_sync_timestamp: end, has_more: false })
  t.equal((await pull()).changes.length, 3, 'since defaults to 0')
})

t.test('A since from the future, as after a restore, counts as 0, so that nothing is skipped', async (t) => {
  const ada = await sharedUser()
  const phone = { 'x-device-id': 'phone' }
  const add = (...ids: string[]) => push(ada, ...ids.map((id) => change({ entity_id: id })))
  const pending = async () => (await ada.call('GET', '/api/v1/sync/status', { headers: phone })).body.pending_changes
  await add('a', 'b', 'c')
  const { cursor } = await pullAll(ada)

  for (const since of [cursor + 1, Number.MAX_SAFE_INTEGER]) {
    const { changes, pages } = await pullAll(ada, { since, limit: 2, headers: phone })
    t.same([changes.map(({ entity_id }) => entity_id), pages], [['a', 'b', 'c'], 2], `since ${since}`)
  }
  t.equal((await pullAll(ada, { since: cursor })).changes.length, 0, 'the newest cursor itself is valid')

  await ada.call('POST', '/api/v1/sync/pull', { body: { since: cursor + 1, limit: 1 }, headers: phone })
  t.equal(await pending(), 2, "the device's stored cursor is lowered, too")
})

t.test('A change written between two parts of a page comes with the next page, and none comes twice', async (t) => {
  const { context, user } = await buildApp(t)
  const ada = await user('ada')
  const ids = await importEqualDates(ada, 600)
  const [first = ''] = ids
  let parts = 0
  onRead(context, async () => {
    if (++parts === 1) await ada.call('PUT', `/api/v1/bookmarks/${first}`, { body: content })
  })
  const { body } = await ada.call('POST', '/api/v1/sync/pull', { body: { limit: 10_000 } })
  t.ok(parts > 1, `${parts} parts`)
  t.same(pick(body.changes, 'entity_id'), ids)
  t.equal(body.has_more, false)
  const next = await ada.call('POST', '/api/v1/sync/pull', { body: { since: body.last_sync_timestamp } })
  t.match(next.body.changes, [{ entity_id: first, operation: 'update' }])
})

t.test('The limit of a pull defaults to 1000', async (t) => {
  const ada = await sharedUser()
  await importEqualDates(ada, 1001)
  const { body } = await ada.call('POST', '/api/v1/sync/pull')
  t.equal(body.changes.length, 1000)
  t.equal(body.has_more, true)
})

t.test('A page of a pull ends early after 2 MiB of ciphertext, and is read in parts', async (t) => {
  const { user, context } = await buildApp(t)
  const mostRead = watchReads(context)
  const ada = await user('ada')
  const large = 'A'.repeat(262_144)
  const bookmarks = Array.from({ length: 40 }, (_, index) => ({
    id: idOf(index),
    data_hash: 'h',
    encrypted_data: large,
  }))
  await importMany(ada, bookmarks)
  const { body } = await ada.call('POST', '/api/v1/sync/pull', { body: { limit: 10_000 } })
  t.equal(body.changes.length, 8, '8 changes of 256 KiB')
  t.equal(body.has_more, true)
  const { changes, pages } = await pullAll(ada, { limit: 10_000 })
  t.same(
    pick(changes, 'entity_id'),
    bookmarks.map(({ id }) => id),
  )
  t.equal(pages, 6, 'the last page is empty')
  t.equal((await ada.call('GET', '/api/v1/bookmarks?limit=1000')).body.data.length, 40)
  t.equal(mostRead(), 512 * 1024, 'few bytes are read at a time')
  for (const { id } of bookmarks) await ada.call('DELETE', `/api/v1/bookmarks/${id}`)
  const deleted = await pullAll(ada, { limit: 10_000 })
  t.equal(deleted.pages, 1, 'deleted bookmarks carry no ciphertext, so they do not count')
  t.ok(deleted.changes.every((event) => event.operation === 'delete' && !('encrypted_data' in event)))
})
