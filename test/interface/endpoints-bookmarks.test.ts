import t from 'tap'
import { buildApp } from '../support/app.ts'
import { importMany } from '../support/changes.ts'
import { pick } from '../support/pick.ts'

const app = await buildApp(t)
const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }

t.test('GET /api/v1/bookmarks | page (integer, default 1), limit (integer, default 100, max 1000)', async (t) => {
  const ada = await app.user('ada')
  const bookmarks = Array.from({ length: 1001 }, (_, index) => ({
    id: `b${String(index).padStart(4, '0')}`,
    ...content,
    date_added: 1_600_000_000 + Math.floor(index / 2),
  }))
  await importMany(ada, bookmarks)
  const newestFirst = pick(bookmarks, 'id').reverse()
  const list = async (query: string) => (await ada.call('GET', `/api/v1/bookmarks${query}`)).body
  const pages: [query: string, first: number, count: number, page: number, limit: number][] = [
    ['', 0, 100, 1, 100],
    ['?page=2', 100, 100, 2, 100],
    ['?limit=7&page=3', 14, 7, 3, 7],
    ['?limit=1000', 0, 1000, 1, 1000],
    ['?limit=1000&page=2', 1000, 1, 2, 1000],
    ['?page=12', 1001, 0, 12, 100],
    ['?page=1000000&limit=1', 1001, 0, 1_000_000, 1],
  ]
  for (const [query, first, count, page, limit] of pages) {
    const { data, meta } = await list(query)
    t.same(pick(data, 'id'), newestFirst.slice(first, first + count), `${query}: newest first, then by id`)
    t.same(meta, { total: 1001, page, limit })
  }
  await ada.call('DELETE', '/api/v1/bookmarks/b1000')
  const { data, meta } = await list('?limit=1')
  t.same([pick(data, 'id'), meta.total], [['b0999'], 1000], 'deleted ones are left out')
})

t.test('The largest bookmark is stored unchanged', async (t) => {
  const ada = await app.user('ada large')
  const largest = { id: 'i'.repeat(128), encrypted_data: 'A'.repeat(262_144), data_hash: 'h'.repeat(128) }
  t.hasStrict((await ada.call('POST', '/api/v1/bookmarks', { body: largest })).body, largest)
})
