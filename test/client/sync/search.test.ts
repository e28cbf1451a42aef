import t from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { Search } from '../../../src/client/sync/search/search.ts'
import { Emitter } from '../../../src/client/sync/store/emitter.ts'
import type { Replica } from '../../../src/client/sync/store/replica.ts'
import type { Sync } from '../../../src/client/sync/sync.ts'
import { bookmark } from './device.ts'
import { openPeople } from './person.ts'

const people = await openPeople()
const folder = (id: string, title: string, parentId?: string): PlaintextBookmark => ({
  ...{ id, title, source: 'bookmarks' },
  ...(parentId !== undefined && { parentId }),
})

const library: PlaintextBookmark[] = [
  folder('recipes', 'Rezepte für Gäste'),
  folder('cakes', 'Kuchen', 'recipes'),
  bookmark('gugelhupf', 'Gugelhupf', { parentId: 'cakes', url: 'https://backen.example/gugelhupf' }),
  bookmark('cafe', 'Café in der Straße', { url: 'https://cafe.example/', tags: ['Zürich', 'Kaffee'] }),
  bookmark('wiki', 'Encyclopedia', { url: 'https://de.wikipedia.example/wiki/Z%C3%BCrich' }),
  bookmark('note', 'Untitled', { url: 'https://a.example/', description: 'Ask ΟΔΥΣΣΕΥΣ about sugar' }),
  bookmark('old', 'From elsewhere', { url: 'https://b.example/', path: 'Sammlung/Alte Karten' }),
  { id: 'line', title: 'Kuchen', source: 'bookmarks', type: 'separator', parentId: 'cakes' },
]

async function find(sync: Sync, text: string, limit?: number): Promise<string[]> {
  return (await sync.search(text, { limit })).map(({ id }) => id)
}

t.test('every word must occur somewhere, in any order, whatever its case and accents', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  await sync.put(library)
  const queries = {
    'GUGEL hupf': ['gugelhupf'],
    'cafe strasse': ['cafe'],
    'STRASSE café': ['cafe'],
    'strasse nowhere': [],
    'backen.example': ['gugelhupf'],
    kaffee: ['cafe'],
    zurich: ['cafe', 'wiki'],
    'https://de.wikipedia.example/wiki/Z%C3%BCrich': ['wiki'],
    'sugar ask': ['note'],
    οδυσσευς: ['note'],
    'kuchen gugelhupf': ['gugelhupf'],
    'gaste hupf': ['gugelhupf'],
    'gaste kuchen': ['cakes', 'gugelhupf'],
    'elsewhere karten': ['old'],
    '#zur': ['cafe'],
    '#kaffee cafe': ['cafe'],
    '#cafe': [],
    ' ': [],
    '%': [],
  }
  const found: Record<string, string[]> = {}
  for (const text of Object.keys(queries)) found[text] = await find(sync, text)
  t.same(found, queries)
})

t.test('the best come first: title before tags, address, description and folder; then the newest', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  const other = { url: 'https://example.org/' }
  await sync.put([
    folder('in-folder', 'Go'),
    bookmark('6 in its folder', 'Other', { ...other, parentId: 'in-folder' }),
    bookmark('5 in the note', 'Other', { ...other, description: 'about go' }),
    bookmark('4 in the address', 'Other', { url: 'https://go.example/' }),
    bookmark('3 in the tags', 'Other', { ...other, tags: ['go'] }),
    bookmark('2 later in the title', 'Learn Go', other),
    bookmark('1 old', 'Go for it', { ...other, dateAdded: '2024-01-01T00:00:00.000Z' }),
    bookmark('0 new', 'Go for it', { ...other, dateAdded: '2026-01-01T00:00:00.000Z' }),
    bookmark('inside a word', 'Cargo', other),
  ])
  t.same(await find(sync, 'go'), [
    ...['0 new', '1 old', 'in-folder', '2 later in the title', '3 in the tags', '4 in the address'],
    ...['inside a word', '5 in the note', '6 in its folder'],
  ])
  t.same(await find(sync, 'go', 2), ['0 new', '1 old'])
})

t.test('what is found follows every change: of this device, of another one, and of a folder around it', async (t) => {
  const person = await people.person(t)
  const [a, b] = [person.device('a').sync, person.device('b').sync]
  await a.put(library)
  t.same(await find(a, 'gaste hupf'), ['gugelhupf'])
  await a.syncNow()
  await b.syncNow()
  t.same(await find(b, 'gaste hupf'), ['gugelhupf'])
  await b.put([folder('recipes', 'Baking'), folder('new', 'New')])
  await b.remove('cafe')
  await b.syncNow()
  await a.syncNow()
  t.same([await find(a, 'gaste hupf'), await find(a, 'baking hupf')], [[], ['gugelhupf']])
  t.same([await find(a, 'strasse'), await find(a, 'new')], [[], ['new']])
})

t.test('folders deeper than any call stack, the deepest first, are searched', async (t) => {
  const depth = 20_000
  const folders = Array.from({ length: depth }, (_, level) => folder(`f${level}`, `level ${level}`, `f${level - 1}`))
  const bookmarks = [
    bookmark('leaf', 'Leaf', { parentId: `f${depth - 1}` }),
    ...folders.toReversed(),
    folder('f-1', 'Top'),
  ]
  const live = new Map(bookmarks.map((one) => [one.id, one]))
  const search = new Search({ live } as Replica, new Emitter())
  t.same(await search.find('top leaf', {}), [live.get('leaf')])
  t.same(await search.find('nowhere leaf', {}), [])
})

t.test('each text is folded once, and again only when its bookmark changes', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  await sync.put(Array.from({ length: 500 }, (_, index) => bookmark(`b${index}`, `Bookmark ${index}`)))
  const { normalize } = String.prototype
  let folded = 0
  String.prototype.normalize = function (form) {
    folded++
    return normalize.call(this, form)
  }
  t.teardown(() => {
    String.prototype.normalize = normalize
  })
  const counts: number[] = []
  const count = async (text: string) => {
    folded = 0
    await find(sync, text)
    counts.push(folded)
  }
  await count('bookmark')
  await count('book')
  await sync.put(bookmark('b7', 'Changed'))
  await sync.remove('b8')
  await count('mark')
  t.same(counts, [501, 1, 2], 'one of them is the query')
})

t.test('a search that is not wanted any more ends with its reason, and leaves the next one complete', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  await sync.put(library)
  const reason = new Error('typed on')
  await t.rejects(sync.search('kuchen', { signal: AbortSignal.abort(reason) }), reason)
  t.same(await find(sync, 'kuchen'), ['cakes', 'gugelhupf'])
})
