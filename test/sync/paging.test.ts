import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { isPostgres } from '../support/database-url.ts'
import { sharedApp } from '../support/shared-app.ts'
import { unchecked } from './unchecked.ts'

const content = { encrypted_data: 'data', data_hash: 'hash' }
const idOf = (index: number) => `bookmark-${String(index).padStart(5, '0')}`

async function importEqualDates(user: TestUser, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => idOf(index))
  const bookmarks = ids.map((id) => ({ id, ...content, date_added: 1_700_000_000, date_modified: 1_700_000_000 }))
  const { body } = await user.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  if (body.imported !== count) throw new Error(`imported ${body.imported}`)
  return ids
}

t.test('5,000 bookmarks of one date, imported in one request, are pulled each exactly once', async (t) => {
  const { app, user } = await buildApp(t)
  const ada = await user('ada')
  const ids = await importEqualDates(ada, 5000)
  for (const limit of [1, 7, 1000, 10_000]) {
    const { changes, pages } = await pullAll(limit < 1000 ? unchecked(app, ada) : ada, { limit })
    t.same(
      changes.map(({ entity_id }) => entity_id),
      ids,
      `pages of ${limit}`,
    )
    t.equal(pages, Math.ceil(5000 / limit), 'the last page says that it is the last')
  }
})

t.test('Pull: since, limit, has_more, last_sync_timestamp', async (t) => {
  const { user } = await sharedApp()
  const ada = await user('ada')
  const pull = async (body?: object) => (await ada.call('POST', '/api/v1/sync/pull', body && { body })).body
  t.same(await pull(), { changes: [], last_sync_timestamp: 0, has_more: false }, 'nothing there: 0')
  await ada.call('POST', '/api/v1/sync/push', {
    body: { changes: ['a', 'b', 'c'].map((id) => change({ entity_id: id })) },
  })
  const first = await pull({ limit: 2 })
  t.match(first, { changes: [{ entity_id: 'a' }, { entity_id: 'b' }], has_more: true })
  const second = await pull({ since: first.last_sync_timestamp, limit: 1 })
  t.match(second, { changes: [{ entity_id: 'c' }], has_more: false }, 'repeated with since: what comes after')
  const end = second.last_sync_timestamp
  t.ok(end > first.last_sync_timestamp)
  t.same(await pull({ since: end }), { changes: [], last_sync_timestamp: end, has_more: false })
  const ahead = await pull({ since: end + 1_000_000_000 })
  t.same(ahead, { changes: [], last_sync_timestamp: end, has_more: false }, 'a since from the future comes back lower')
  t.equal((await pull()).changes.length, 3, 'since defaults to 0')
})

t.test('Pull gives the newest change of each entity, where it now stands in the order', async (t) => {
  const { user } = await sharedApp()
  const ada = await user('ada')
  for (const [id, timestamp] of [
    ['a', 1],
    ['b', 1],
    ['a', 2],
  ] as const) {
    const changes = [change({ entity_id: id, timestamp, operation: 'update' })]
    await ada.call('POST', '/api/v1/sync/push', { body: { changes } })
  }
  const { changes } = await pullAll(ada, { limit: 1 })
  t.match(changes, [{ entity_id: 'b' }, { entity_id: 'a', timestamp: 2 }])
  t.equal(changes.length, 2)
})

t.test('Pull: limit defaults to 1000', async (t) => {
  const { user } = await sharedApp()
  const ada = await user('ada')
  await importEqualDates(ada, 1001)
  const { body } = await ada.call('POST', '/api/v1/sync/pull')
  t.equal(body.changes.length, 1000)
  t.equal(body.has_more, true)
})

t.test('A pull page ends early after 8 MiB of ciphertext, and no more than that is read', async (t) => {
  const mostRead = watchReads(t)
  const { user } = await buildApp(t)
  const ada = await user('ada')
  const large = 'A'.repeat(262_144)
  const bookmarks = Array.from({ length: 100 }, (_, index) => ({
    id: idOf(index),
    data_hash: 'h',
    encrypted_data: large,
  }))
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  const { body } = await ada.call('POST', '/api/v1/sync/pull', { body: { limit: 10_000 } })
  t.equal(body.changes.length, 32, '32 of 256 KiB')
  t.equal(body.has_more, true)
  const { changes, pages } = await pullAll(ada, { limit: 10_000 })
  t.same(
    changes.map(({ entity_id }) => entity_id),
    bookmarks.map(({ id }) => id),
  )
  t.equal(pages, 4)
  // The same query runs on Postgres, where no driver can be watched.
  if (!isPostgres) t.equal(mostRead(), 8 * 1024 * 1024, 'so memory is bounded')
  for (const { id } of bookmarks) await ada.call('DELETE', `/api/v1/bookmarks/${id}`)
  const deleted = await pullAll(ada, { limit: 10_000 })
  t.equal(deleted.pages, 1, 'deleted ones carry none, and so do not count')
  t.ok(deleted.changes.every((event) => event.operation === 'delete' && !('encrypted_data' in event)))
})

/** The most ciphertext that one query gave. */
function watchReads(t: Test): () => number {
  let most = 0
  const { prepare } = Sqlite.prototype
  t.teardown(() => {
    Sqlite.prototype.prepare = prepare
  })
  Sqlite.prototype.prepare = function (this: Sqlite.Database, sql: string) {
    const statement = prepare.call(this, sql)
    const all = statement.all as (parameters: unknown[]) => { encrypted_data?: string | null }[]
    statement.all = (parameters: unknown) => {
      const rows = all.call(statement, parameters as unknown[])
      most = Math.max(
        most,
        rows.reduce((sum, { encrypted_data }) => sum + (encrypted_data?.length ?? 0), 0),
      )
      return rows
    }
    return statement
  } as typeof prepare
  return () => most
}

t.test('GET bookmarks: newest first, then by id descending; each exactly once', async (t) => {
  const { app, user } = await buildApp(t)
  const ada = await user('ada')
  const ids = await importEqualDates(ada, 120)
  const older = [{ id: 'zz-older', ...content, date_added: 1_600_000_000 }]
  await ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: older } })
  const newer = (await ada.call('POST', '/api/v1/bookmarks', { body: content })).body.id
  await ada.call('DELETE', `/api/v1/bookmarks/${ids.pop()}`)
  const expected = [newer, ...ids.toReversed(), 'zz-older']
  for (const limit of [1, 7, 100, 1000]) {
    const listed: string[] = []
    const pages = Math.ceil(expected.length / limit)
    const { call } = limit === 1 ? unchecked(app, ada) : ada
    for (let page = 1; page <= pages + 1; page += 1) {
      const { body } = await call('GET', `/api/v1/bookmarks?page=${page}&limit=${limit}`, {})
      if (page > pages) t.same(body.data, [], 'nothing after the last page')
      else t.same(body.meta, { total: expected.length, page, limit })
      listed.push(...body.data.map(({ id }: { id: string }) => id))
    }
    t.same(listed, expected, `pages of ${limit}`)
  }
  const { body } = await ada.call('GET', '/api/v1/bookmarks')
  t.match(body.meta, { page: 1, limit: 100 }, 'the defaults')
  t.equal(body.data.length, 100)
})
