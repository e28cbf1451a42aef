import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { breakDatabase } from '../support/database.ts'
import { openUnread, storeMuch } from './unread.ts'

const list = '/api/v1/bookmarks?limit=1000'
const pull = '/api/v1/sync/pull'
const content = { encrypted_data: 'new', data_hash: 'new' }

const app = await buildApp(t)
const origin = await app.listen()

const large = (count: number) =>
  Array.from({ length: count }, (_, n) => change({ entity_id: `large-${n}`, encrypted_data: 'x'.repeat(262_144) }))
const idsOf = (bookmarks: { id: string }[]) => bookmarks.map(({ id }) => id)
const entitiesOf = (changes: Schemas['SyncEvent'][]) => changes.map(({ entity_id }) => entity_id)
const push = (user: TestUser, changes: object[]) => user.call('POST', '/api/v1/sync/push', { body: { changes } })

for (const [title, changes, limit] of [
  ['nothing', [], 1],
  ['one part, which is full', large(2), 1],
  ['three parts, by their size', large(5), 1],
  ['two parts, by their number', Array.from({ length: 600 }, (_, n) => change({ entity_id: `"${n}\\` })), 100],
] as const) {
  t.test(`A body in parts is the JSON that it would be in one piece: ${title}`, async (t) => {
    const user = await app.user(title)
    await push(user, [...changes])
    const [listed, pulled] = [await user.call('GET', list), await user.call('POST', pull)]
    for (const { headers, raw, body } of [listed, pulled]) {
      t.equal(headers['content-type'], 'application/json; charset=utf-8')
      t.ok(raw.toString() === JSON.stringify(body), 'without anything between the parts')
    }
    const data: object[] = []
    for (let page = 1; data.length < changes.length; page++)
      data.push(...(await user.call('GET', `/api/v1/bookmarks?limit=${limit}&page=${page}`)).body.data)
    t.strictSame(listed.body, { data, meta: { total: changes.length, page: 1, limit: 1000 } })
    const events: Schemas['SyncEvent'][] = []
    let [since, has_more] = [0, true]
    while (has_more) {
      const { body } = await user.call('POST', pull, { body: { since, limit } })
      events.push(...body.changes)
      since = body.last_sync_timestamp
      has_more = body.has_more
    }
    t.match(pulled.body, { last_sync_timestamp: since, has_more })
    t.strictSame(pulled.body.changes, events)
  })
}

t.test('What changes while a list is read comes once or not at all', async (t) => {
  const ada = await app.user('lists')
  const ids = await storeMuch(app, ada)
  const unread = await openUnread(t, origin, ada, list)
  await ada.call('DELETE', `/api/v1/bookmarks/${ids[0]}`)
  await ada.call('PUT', `/api/v1/bookmarks/${ids[1]}`, { body: content })
  await ada.call('PUT', `/api/v1/bookmarks/${ids[63]}`, { body: content })
  await ada.call('POST', '/api/v1/bookmarks', { body: content })
  const { body } = await unread.read()
  t.same(idsOf(body.data), ids.slice(1).reverse())
  t.equal(body.data.at(-1).data_hash, 'new', 'it comes as it is when its part is read')
  t.same(body.meta, { total: 64, page: 1, limit: 1000 }, 'as it was at the beginning')
})

t.test('What changes while a page is pulled comes once: with this page, or with the next', async (t) => {
  const ada = await app.user('pulls')
  // A page has 8 MiB at most, and the sockets of both sides may hold that: the page ends only when something is read.
  const ids = await storeMuch(app, ada)
  const unread = await openUnread(t, origin, ada, pull, { limit: 10_000 })
  await ada.call('PUT', `/api/v1/bookmarks/${ids[0]}`, { body: content })
  await ada.call('PUT', `/api/v1/bookmarks/${ids[31]}`, { body: content })
  const { body } = await unread.read()
  const [first, next] = [entitiesOf(body.changes), await pullFrom(ada, body.last_sync_timestamp)]
  t.equal(new Set(first).size, first.length)
  t.same(new Set([...first, ...next]), new Set(ids))
  t.same(next.slice(-2), [ids[0], ids[31]])
})

async function pullFrom(user: TestUser, since: number): Promise<string[]> {
  const { body } = await user.call('POST', pull, { body: { since, limit: 10_000 } })
  return [...entitiesOf(body.changes), ...(body.has_more ? await pullFrom(user, body.last_sync_timestamp) : [])]
}

t.test('A list that fails midway ends its connection: half of it is no JSON', async (t) => {
  const ada = await app.user('fails')
  await storeMuch(app, ada)
  const unread = await openUnread(t, origin, ada, list)
  const repair = breakDatabase(app.context)
  await t.rejects(unread.read(), { message: 'aborted' })
  repair()
  t.match(app.log.join(''), /disk I\/O error/)
  t.equal(app.context.responses.held(), 0)
})
