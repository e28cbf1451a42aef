import fc from 'fast-check'
import t from 'tap'
import { buildTree } from '../../../src/client/bookmark/build-tree.ts'
import type { TreeNode } from '../../../src/client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { Emitter } from '../../../src/client/sync/store/emitter.ts'
import { indexedDbStore } from '../../../src/client/sync/store/indexed-db.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Replica } from '../../../src/client/sync/store/replica.ts'
import { viewOf } from '../../../src/client/sync/store/row.ts'
import type { Sync } from '../../../src/client/sync/sync.ts'
import { type Selection, Selections, toReadable } from '../../../src/client/sync/view/selections.ts'
import { TreeCache } from '../../../src/client/sync/view/tree-cache.ts'
import { depth } from '../../support/depth.ts'
import { until } from './clock.ts'
import { bookmark, openPeople } from './device.ts'
import { down } from './network.ts'
import './stores.ts'
import { createElement, type ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { shallowRef, watchSyncEffect } from 'vue'
import {
  SyncProvider,
  useConflicts,
  useFolder,
  useFolderSize,
  useIsWaiting,
  useSyncStatus,
} from '../../../src/client/react.ts'
import { Search, type SearchQuery } from '../../../src/client/sync/search/search.ts'

const people = await openPeople()
const folder = (id: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark => ({
  ...{ id, title: id, source: 'bookmarks' },
  ...fields,
})

t.test('a selection calls its listener when its value changes, and keeps the same value until then', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  const [x, y] = [
    { parentId: 'f', position: 'a0' },
    { parentId: 'f', position: 'a1' },
  ]
  await sync.put([folder('f'), bookmark('x', 'one', x), bookmark('y', 'other', y)])
  const selected = {
    x: sync.select(({ get }) => get('x')),
    f: sync.select(({ contents }) => contents('f')),
    top: sync.select(({ contents }) => contents()),
    tree: sync.select(({ tree }) => tree()),
    count: sync.select(({ bookmarks }) => bookmarks().size),
    tagged: sync.select(({ bookmarks }) => [...bookmarks().values()].filter(({ tags }) => tags?.includes('new'))),
    waiting: sync.select(({ status }) => ({ waiting: status().waiting })),
  }
  const changed = watch(selected)

  await sync.put(bookmark('x', 'two', x))
  t.same(changed(), ['x', 'tree'])
  await sync.put(bookmark('z', 'new', { tags: ['new'] }))
  t.same(changed(), ['top', 'tree', 'count', 'tagged', 'waiting'])
  await sync.put(bookmark('y', 'other', { ...y, description: 'a note' }))
  t.same(changed(), ['tree'])
  await sync.move('y', { parentId: 'f', before: 'x' })
  t.same(changed(), ['f', 'tree'])
  await sync.syncNow()
  t.same(changed(), ['waiting'], 'the service has confirmed everything')
  await sync.remove('x')
  t.same(changed(), ['x', 'f', 'tree', 'count', 'waiting'])
  t.equal(selected.x.read(), undefined)
})

t.test('a bookmark is waiting from its edit until the service has confirmed it, whatever others do', async (t) => {
  const { sync, network } = (await people.person(t)).device('a')
  const selected = {
    x: sync.select(({ isWaiting }) => isWaiting('x')),
    y: sync.select(({ isWaiting }) => isWaiting('y')),
  }
  const changed = watch(selected)
  await sync.put([bookmark('x', 'one'), bookmark('y', 'other')])
  t.same([changed(), selected.x.read()], [['x', 'y'], true])
  await sync.syncNow()
  t.same([changed(), selected.x.read()], [['x', 'y'], false])
  network.fate = down
  await sync.remove('y')
  await t.rejects(sync.syncNow(), { name: 'OfflineError' })
  t.same([changed(), selected.y.read()], [['y'], true])
  t.equal(
    shownBy(() => `${useIsWaiting('x')} ${useIsWaiting('y')}`, sync),
    'false true',
  )
})

t.test('a part of a folder has the requested rows, and changes only when these do', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  const inFolder = Array.from({ length: 6 }, (_, at) => bookmark(`x${at}`, '', { parentId: 'f', position: `a${at}` }))
  await sync.put([folder('f'), ...inFolder])
  const selected = {
    part: sync.select(({ contents }) => contents('f').slice(2, 4)),
    end: sync.select(({ contents }) => contents('f').slice(4, 100)),
    top: sync.select(({ contents }) => contents().slice(1)),
  }
  t.same([selected.part.read(), selected.end.read(), selected.top.read()], [['x2', 'x3'], ['x4', 'x5'], []])
  const changed = watch(selected)
  await sync.put(bookmark('x2', 'another title', { parentId: 'f', position: 'a2' }))
  await sync.move('x0', { parentId: 'f', before: 'x2' })
  t.same(changed(), [])
  await sync.remove('x5')
  t.same(changed(), ['end'])
  await sync.remove('x0')
  t.same(
    [changed(), selected.part.read()],
    [
      ['part', 'end'],
      ['x3', 'x4'],
    ],
  )
  t.equal(
    shownBy(() => `${useFolder('f', 1, 3)} of ${useFolderSize('f')}`, sync),
    'x2,x3 of 4',
  )
})

t.test('reading the store again changes no value', async (t) => {
  const person = await people.person(t)
  const { sync, network } = person.device('a', { store: indexedDbStore(person.user.userId) })
  await sync.put([folder('f'), bookmark('x', 'one', { parentId: 'f', tags: ['a'] })])
  const selected = { x: sync.select(({ get }) => get('x')), tree: sync.select(({ tree }) => tree()) }
  const changed = watch(selected)
  const before = sync.get('x')
  network.fate = down
  await sync.start()
  await until(() => network.calls.length > 0)
  t.same(changed(), [])
  t.equal(sync.get('x'), before)
})

t.test('a removed listener is not called, and one that throws does not stop the others', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  await sync.put(bookmark('x', 'one'))
  const told: string[] = []
  const title = sync.select(({ get }) => (get('x') as PlaintextBookmark).title)
  const remove = title.subscribe(() => told.push('removed'))
  title.subscribe(() => told.push('kept'))
  sync.select(({ get }) => get('x')?.title).subscribe(() => told.push('beside'))
  remove()
  await sync.remove('x')
  t.same(told, ['kept', 'beside'])
  t.throws(() => title.read(), TypeError)
})

t.test('a readable calls at once and with each new value until it is ended; a ref of Vue follows it', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  const count = toReadable(sync.select(({ bookmarks }) => bookmarks().size))
  const run: number[] = []
  const shown: (number | undefined)[] = []
  const ref = shallowRef<number>()
  watchSyncEffect(() => shown.push(ref.value))
  const ends = [
    count.subscribe((value) => run.push(value)),
    count.subscribe((value) => {
      ref.value = value
    }),
  ]
  t.same(run, [0])
  await sync.put(bookmark('x', 'one'))
  await sync.put(bookmark('x', 'two'))
  await sync.put(bookmark('y', 'other'))
  for (const end of ends) end()
  await sync.remove('x')
  t.same(
    [run, shown],
    [
      [0, 1, 2],
      [undefined, 0, 1, 2],
    ],
  )
})

t.test('a listener of `change` already reads new values', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  await sync.put(bookmark('x', 'one'))
  const count = sync.select(({ bookmarks }) => bookmarks().size)
  const read: number[] = [count.read()]
  sync.on('change', () => read.push(count.read()))
  await sync.put(bookmark('y', 'one'))
  t.same(read, [1, 2])
})

t.test('after signing out, selections are empty', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  await sync.put([folder('f'), bookmark('x', 'one', { parentId: 'f' })])
  const everything = ({ get, tree, contents }: Pick<Sync, 'get' | 'tree' | 'contents'>) => [
    ...[get('x'), tree(), contents(), contents('f')],
  ]
  const selected = sync.select(everything)
  const changed = watch({ selected })
  await sync.signOut({ discardUnsent: true })
  t.same(changed(), ['selected'])
  t.same(selected.read(), [undefined, [], [], []])
})

t.test('a selection of a tree deeper than any call stack changes when something deep in it does', async (t) => {
  const nested = (title: string) => {
    let nodes: TreeNode[] = [{ bookmark: bookmark('leaf', title), children: [] }]
    for (let level = 0; level < 20_000; level++) nodes = [{ bookmark: folder(`f${level}`), children: nodes }]
    return nodes
  }
  const selections = new Selections(new Emitter())
  let title = 'one'
  const selection = selections.select(() => nested(title))
  const first = selection.read()
  selections.refresh()
  t.ok(selection.read() === first)
  title = 'two'
  selections.refresh()
  t.ok(selection.read() !== first)
})

t.test('an edit in a list of two thousand reads the positions of few of them', async (t) => {
  let looked = 0
  const at = (index: number): PlaintextBookmark => ({
    ...bookmark(`b${index}`, ''),
    get position() {
      looked++
      return `a${index + 1000}`
    },
  })
  const live = new Map(Array.from({ length: 2000 }, (_, index) => [`b${index}`, at(index)]))
  const replica = { lives: { bookmark: live }, rows: new Map() } as unknown as Replica
  const tree = new TreeCache('bookmark')
  const { signal } = new AbortController()
  await tree.update(replica, [...live.keys()], signal)
  looked = 0
  live.set('b7', at(1500.5))
  live.delete('b8')
  await tree.update(replica, ['b7', 'b8'], signal)
  t.ok(looked < 120, `${looked} looks`)
  t.strictSame(tree.read(), buildTree(live.values()))
})

t.test('after any edits, the tree equals that of a new device, and unchanged nodes are reused', async (t) => {
  const ids = ['f', 'g', 'h', 'x', 'y', 'z', 'u', 'v']
  const id = fc.constantFrom(...ids)
  const one = fc.record({ id, parentId: id, position: fc.constantFrom('a0', 'a1', 'a2') })
  const edit = fc.oneof(
    fc.record({ type: fc.constant('put' as const), list: fc.array(one, { minLength: 1 }) }),
    fc.record({ type: fc.constant('move' as const), id, parentId: fc.option(id, { nil: undefined }) }),
    fc.record({ type: fc.constant('remove' as const), ids: fc.array(id) }),
  )
  const person = await people.person(t)
  const property = fc.asyncProperty(fc.array(fc.array(edit, { minLength: 1, maxLength: 3 })), async (rounds) => {
    const store = memoryStore()
    const { sync } = person.device('a', { store })
    for (const [number, edits] of rounds.entries()) {
      const copied: string[] = []
      for (const edit of edits) {
        const before = nodesOf(sync.tree())
        if (edit.type === 'remove') await sync.remove(edit.ids)
        // A move into something that is no folder is refused.
        else if (edit.type === 'move') await sync.move(edit.id, { parentId: edit.parentId }).catch(() => {})
        else {
          const list = edit.list.map(({ id, parentId, position }) => ({ ...pick(id, parentId), position }))
          await sync.put(list.map((one) => ({ ...one, title: `${number}` })))
        }
        for (const [id, node] of nodesOf(sync.tree())) {
          const old = before.get(id)
          if (old !== node && JSON.stringify(old) === JSON.stringify(node)) copied.push(id)
        }
      }
      const fresh = person.device('fresh', { store }).sync
      await fresh.put([])
      const stored = new Map((await store.load()).rows.map((row) => [row.id, row]))
      const built = buildTree(sync.bookmarks().values(), (id) => viewOf(stored.get(id)).timestamp)
      const trees = new Set([built, sync.tree(), fresh.tree()].map((tree) => JSON.stringify(tree)))
      if (copied.length > 0 || trees.size > 1) return false
    }
    return true
  })
  await fc.assert(property, { numRuns: depth(10, 500) })
})

/** Makes a folder for the ids f, g and h, otherwise a bookmark. */
function pick(id: string, parentId: string): PlaintextBookmark {
  return 'fgh'.includes(id) ? folder(id, { parentId }) : bookmark(id, id, { parentId })
}

function nodesOf(tree: readonly TreeNode[]): Map<string, TreeNode> {
  const nodes = [...tree]
  for (const { children } of nodes) nodes.push(...children)
  return new Map(nodes.map((node) => [node.bookmark.id, node]))
}

/** The returned function names the selections that have called since the last time. Only their values may be new. */
function watch(selected: Record<string, Selection<unknown>>): () => string[] {
  const told = new Set<string>()
  const values = new Map(Object.entries(selected).map(([name, { read }]) => [name, read()]))
  for (const [name, { subscribe }] of Object.entries(selected)) subscribe(() => told.add(name))
  return () => {
    const names = Object.keys(selected).filter((name) => told.has(name))
    const differing = Object.keys(selected).filter((name) => selected[name]?.read() !== values.get(name))
    t.same(names, differing)
    for (const name of names) values.set(name, selected[name]?.read())
    told.clear()
    return names
  }
}

const library: PlaintextBookmark[] = [
  folder('recipes', { title: 'Rezepte für Gäste' }),
  folder('cakes', { title: 'Kuchen', parentId: 'recipes' }),
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

t.test('a search finds all words in any order, regardless of case and accents', async (t) => {
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

t.test('best matches come first: title, tags, address, description, folder; then the newest', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  const other = { url: 'https://example.org/' }
  await sync.put([
    folder('in-folder', { title: 'Go' }),
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

t.test('searches by address and tag find all matches, the newest first, and follow every edit', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  const tagged = { tags: ['Kaffee', 'Zürich'] }
  const dated = (day: number) => ({ dateAdded: `2026-01-0${day}T00:00:00.000Z` })
  await sync.put([
    ...Array.from({ length: 120 }, (_, at) => bookmark(`many${at}`, 'Many', { tags: ['many'] })),
    bookmark('old', 'Old', { url: 'http://www.cafe.example/?', ...dated(1) }),
    bookmark('new', 'New', { url: 'https://cafe.example', ...tagged, ...dated(2) }),
    bookmark('inside', 'https://cafe.example/', { url: 'https://cafe.example/menu', tags: ['Kaffeehaus'] }),
    folder('folder', { title: 'cafe.example' }),
    bookmark('odd', 'Odd', { url: '' }),
  ])
  const found = async (query: SearchQuery, limit?: number) => {
    return (await sync.search(query, { limit })).map(({ id }) => id)
  }
  t.same(await found({ url: 'https://www.cafe.example/#' }), ['new', 'old'])
  t.same(await found({ url: 'https://www.cafe.example/#' }, 1), ['new'])
  t.same(await found({ tag: 'Kaffee' }), ['new'])
  t.equal((await found({ tag: 'many' })).length, 120, 'all of them')
  for (const query of [{ url: '' }, { url: 'https://' }, { tag: 'kaffee' }, { tag: '' }]) t.same(await found(query), [])
  await sync.update('old', tagged)
  await sync.update('new', { url: 'https://elsewhere.example' })
  await sync.remove('inside')
  t.same(await found({ url: 'cafe.example' }), ['old'])
  t.same(await found({ tag: 'Kaffee' }), ['new', 'old'])
})

t.test('search results follow changes by this device, by another one, and to a folder around', async (t) => {
  const person = await people.person(t)
  const [a, b] = [person.device('a').sync, person.device('b').sync]
  await a.put(library)
  t.same(await find(a, 'gaste hupf'), ['gugelhupf'])
  await a.syncNow()
  await b.syncNow()
  t.same(await find(b, 'gaste hupf'), ['gugelhupf'])
  await b.put([folder('recipes', { title: 'Baking' }), folder('new', { title: 'New' })])
  await b.remove('cafe')
  await b.syncNow()
  await a.syncNow()
  t.same([await find(a, 'gaste hupf'), await find(a, 'baking hupf')], [[], ['gugelhupf']])
  t.same([await find(a, 'strasse'), await find(a, 'new')], [[], ['new']])
})

t.test('folders deeper than any call stack, listed deepest first, can be searched', async (t) => {
  const depth = 20_000
  const folders = Array.from({ length: depth }, (_, level) =>
    folder(`f${level}`, { title: `level ${level}`, parentId: `f${level - 1}` }),
  )
  const bookmarks = [
    bookmark('leaf', 'Leaf', { parentId: `f${depth - 1}` }),
    ...folders.toReversed(),
    folder('f-1', { title: 'Top' }),
  ]
  const live = new Map(bookmarks.map((one) => [one.id, one]))
  const search = new Search({ live } as Replica, new Emitter())
  t.same(await search.find('top leaf', {}), [live.get('leaf')])
  t.same(await search.find('nowhere leaf', {}), [])
})

t.test('each text is case-folded once, and again only when its bookmark changes', async (t) => {
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
  t.same(counts, [502, 2, 3], 'two of these are the query')
})

t.test('an aborted search ends with its reason, and does not affect the next one', async (t) => {
  const { sync } = (await people.person(t)).device('a')
  await sync.put(library)
  const reason = new Error('typed on')
  await t.rejects(sync.search('kuchen', { signal: AbortSignal.abort(reason) }), reason)
  t.same(await find(sync, 'kuchen'), ['cakes', 'gugelhupf'])
})

function shownBy(hook: () => ReactNode, sync?: Sync): string {
  const content = createElement(() => hook())
  return renderToStaticMarkup(sync ? createElement(SyncProvider, { sync }, content) : content)
}

t.test('a hook outside of a provider reports the missing provider', async (t) => {
  t.throws(() => shownBy(() => useSyncStatus().state), /needs a <SyncProvider/)
})

t.test('useConflicts returns lost edits, and the same value while no other edit loses', async (t) => {
  const person = await people.person(t)
  const [a, b] = [person.device('a').sync, person.device('b').sync]
  const shown = () => shownBy(() => useConflicts().map(({ mine, theirs }) => `${mine?.title} < ${theirs?.title}`), a)
  await a.put(bookmark('x', 'one'))
  await a.syncNow()
  await b.syncNow()
  t.equal(shown(), '')
  const conflicts = a.select((sync) => sync.conflicts())
  const before = conflicts.read()
  await a.put(bookmark('x', 'mine'))
  t.equal(conflicts.read(), before)
  await person.world.pass(1000)
  await b.put(bookmark('x', 'theirs'))
  await b.syncNow()
  let told = 0
  conflicts.subscribe(() => told++)
  await a.syncNow()
  t.same([told, shown()], [1, 'mine &lt; theirs'])
})
