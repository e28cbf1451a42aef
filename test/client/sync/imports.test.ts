import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { buildTree } from '../../../src/client/bookmark/build-tree.ts'
import type { TreeNode } from '../../../src/client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { arrange } from '../../../src/client/bookmark-file/arrange.ts'
import { StorageFullError } from '../../../src/client/errors.ts'
import { type ImportRules, planImport } from '../../../src/client/sync/edits/import.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { depth } from '../../support/depth.ts'
import { bookmarksIn, idsBeside } from '../bookmark-file/samples.ts'
import { bookmark, type Device, numbered, openPeople, remove, send, shown, sync } from './device.ts'
import { down, up } from './network.ts'

const people = await openPeople()
const file = new URL('../../fixtures/bookmarks/netscape_nested.htm', import.meta.url)

t.test('a bookmark file is imported with its tree, which other devices get, too', async (t) => {
  const { a, b } = await people.open(t)
  const list = bookmarksIn(readFileSync(file, 'utf8'))
  const progress: [number, number][] = []
  const onProgress = (done: number, total: number) => progress.push([done, total])
  const report = await a.sync.importBookmarks(list, { onProgress })
  const edited = [...a.sync.bookmarks().keys()]
  t.same(report, { imported: list.length, existing: [], repaired: [], failed: [], reduced: [], edited })
  t.same(progress.at(-1), [list.length, list.length])
  t.equal(progress.length, list.length)
  await sync(a, b)
  t.same([outline(a.sync.tree()), outline(b.sync.tree())], Array(2).fill(outline(buildTree(list))))
})

t.test('an import leaves existing bookmarks unchanged, and skips entries that cannot be stored', async (t) => {
  const { a } = await people.open(t)
  await a.sync.put(bookmark('x', 'mine'))
  const report = await a.sync.importBookmarks([
    bookmark('x', 'theirs'),
    bookmark('y', 'first'),
    bookmark('y', 'second'),
    bookmark('large', 'x'.repeat(250_000)),
    bookmark('no id: ü', 'bad'),
  ])
  t.match(report, {
    imported: 1,
    existing: ['x', 'y'],
    failed: [
      { id: 'large', error: { fault: 'too-large' } },
      { id: 'no id: ü', error: { fault: 'invalid-id' } },
    ],
    reduced: [],
  })
  t.same(shown(a), { x: 'mine', y: 'first' })
})

t.test('importing a file a second time adds nothing, here, at the same time, or on another device', async (t) => {
  const { a, b } = await people.open(t)
  const html = readFileSync(file, 'utf8')
  const count = bookmarksIn(html).length
  const reports = await Promise.all([1, 2].map(() => a.sync.importBookmarks(bookmarksIn(html))))
  await sync(a, b)
  reports.push(await b.sync.importBookmarks(bookmarksIn(html)))
  const counts = reports.map(({ imported, existing }) => `${imported} new, ${existing.length} old`)
  t.same(counts, [`${count} new, 0 old`, ...Array(2).fill(`0 new, ${count} old`)])
  t.same([a.sync.bookmarks().size, b.sync.status().waiting], [count, 0])
  t.equal(outline(b.sync.tree()), outline(buildTree(bookmarksIn(html))))
})

t.test('import and restore drop the icon or attributes of a too large bookmark, and report it', async (t) => {
  const { a } = await people.open(t)
  const long = 'A'.repeat(250_000)
  const star = bookmark('star', 'repository', {
    ...{ name: 'kysely', full_name: 'kysely-org/kysely', stargazers_count: 12_000, owner: { login: 'kysely-org' } },
    ...{ attributes: { last_visit: '1' }, extra: { app: [1, null] }, 'a field of tomorrow': { deep: true } },
  })
  const noted = bookmark('noted', 'attributes', { extra: { kept: true } })
  const list = [
    { ...star, favicon: long },
    { ...noted, favicon: 'small', attributes: { note: long } },
    bookmark('small', 'fits', { favicon: 'small', attributes: { note: 'n' } }),
    bookmark('large', 'all the same', { favicon: long, description: long }),
  ]
  const outcome = { imported: 3, existing: [], failed: [{ id: 'large', error: { fault: 'too-large' } }] }
  t.match(await a.sync.importBookmarks(list), { ...outcome, reduced: ['star', 'noted'] })
  const kept = (id: string) => {
    const { position, ...rest } = a.sync.get(id) as PlaintextBookmark
    return rest
  }
  t.same([kept('star'), kept('noted'), kept('small')], [star, noted, list[2]])

  await a.sync.remove(['star', 'noted'])
  const restored = await a.sync.restoreExport({ bookmarks: list })
  t.match(restored, { imported: 2, existing: ['small'], failed: outcome.failed, reduced: ['star', 'noted'] })
  t.same([kept('star'), kept('noted')], [star, noted])
  const again = await a.sync.restoreExport({ bookmarks: list }, { overwrite: true })
  t.match(again, { imported: 1, existing: ['star', 'noted'], reduced: [] }, 'only changed bookmarks are reported')
})

t.test('an edit made while a backup is restored over the bookmarks stays', async (t) => {
  const { a } = await people.open(t)
  await a.sync.put([bookmark('x', 'x'), bookmark('y', 'y')])
  const backup = { bookmarks: [bookmark('x', 'in the backup'), bookmark('y', 'in the backup')] }
  const restoring = a.sync.restoreExport(backup, { overwrite: true })
  await a.sync.update('x', { description: 'made meanwhile' })
  t.match(await restoring, { imported: 1, existing: ['x'] })
  t.match(
    ['x', 'y'].map((id) => a.sync.get(id)),
    [{ title: 'x', description: 'made meanwhile' }, { title: 'in the backup' }],
  )
})

t.test('a second file is added below the existing bookmarks, in the same folders and in its own order', async (t) => {
  const { a } = await people.open(t)
  const first = '<DL><p><DT><H3>f</H3><DL><p><DT><A HREF="u:1">one</A><HR><DT><A HREF="u:2">two</A></DL></DL>'
  const second = `<DL><p><DT><A HREF="u:4">four</A><DT><A HREF="u:5">five</A><DT><H3>f</H3><DL><p>
    <DT><A HREF="u:3">three</A><HR><DT><A HREF="u:2">again</A><DT><H3>g</H3></DL></DL>`
  await a.sync.put(bookmark('without a position', 'old'))
  await a.sync.importBookmarks(bookmarksIn(first))
  t.match(await a.sync.importBookmarks(bookmarksIn(second)), { imported: 4, existing: { length: 3 } })
  t.equal(outline(a.sync.tree()), 'old f[one  two three g] four five')
  await a.sync.importBookmarks(bookmarksIn(first), { duplicates: 'keep' })
  t.equal(outline(a.sync.tree()), 'old f[one  two three g one  two] four five')
  const f = a.sync.tree().find(({ bookmark }) => bookmark.title === 'f')?.bookmark.id
  await a.sync.importBookmarks(bookmarksIn(second), { into: f })
  t.equal(outline(a.sync.tree()), 'old f[one  two three g one  two four five f[three  again g]] four five')
  await t.rejects(a.sync.importBookmarks(bookmarksIn(first), { into: 'gone' }), RangeError)
  t.equal(a.sync.bookmarks().size, 19)
})

t.test('importing a file again, even a changed one, does not duplicate separators', async (t) => {
  const { a } = await people.open(t)
  const [x, y, z, w] = ['x', 'y', 'z', 'w'].map((name) => `<DT><A HREF="https://${name}.example/">${name}</A>`)
  const fileOf = (...items: unknown[]) => bookmarksIn(`<DL>${items.join('')}</DL>`)
  const removeTitled = (title: string) =>
    a.sync.remove([...a.sync.bookmarks().values()].filter((one) => one.title === title).map(({ id }) => id))
  const bring = async (...items: unknown[]) => {
    await a.sync.importBookmarks(fileOf(...items))
    const titles = a.sync.tree().map(({ bookmark: { type, title } }) => (type === 'separator' ? '-' : title))
    return titles.join(' ')
  }
  for (const expected of ['x x - y', '- y x x', '- y x x']) {
    t.equal(await bring(x, x, '<HR>', y), expected)
    await removeTitled('x')
  }
  for (const [newer, expected] of [
    [[], '- y x'],
    [[z], '- y x z'],
    [[z, '<HR>', w], '- y x z - w'],
    [[z, '<HR>', w], '- y x z - w'],
  ] as const)
    t.equal(await bring(x, '<HR>', y, ...newer), expected)
})

t.test("Firefox's Other Bookmarks is imported as a folder, unless an extension made the browser folders", async (t) => {
  const { a } = await people.open(t)
  const other = (title: string, ...urls: string[]) =>
    bookmarksIn(`<DL><DT><H3 UNFILED_BOOKMARKS_FOLDER="true">${title}</H3><DL><p>
      ${urls.map((url) => `<DT><A HREF="${url}">${url}</A>`).join('')}</DL></DL>`)
  t.match(await a.sync.importBookmarks(other('Other Bookmarks', 'x')), { imported: 2, existing: { length: 0 } })
  t.match(await a.sync.importBookmarks(other('Other Bookmarks', 'x')), { imported: 0, existing: { length: 2 } })
  t.match(await a.sync.importBookmarks(other('Weitere Lesezeichen', 'x', 'y')), { imported: 1 })
  t.equal(outline(a.sync.tree()), 'Other Bookmarks[x y]')

  await a.sync.remove([...a.sync.bookmarks().keys()])
  await a.sync.put({ id: 'browser-menu', title: 'menu', source: 'bookmarks' })
  t.match(await a.sync.importBookmarks(other('Other Bookmarks', 'x')), { imported: 1, existing: { length: 0 } })
  t.equal(outline(a.sync.tree()), 'menu x')
})

t.test('an import that is aborted or finds no room leaves nothing', async (t) => {
  const person = await people.person(t)
  const disk = memoryStore()
  let isFull = false
  const write: typeof disk.write = async (rows, meta) => {
    if (isFull) throw new StorageFullError()
    await disk.write(rows, meta)
  }
  const a = person.device('a', { store: { ...disk, write } })
  const controller = new AbortController()
  const reason = new Error('enough')
  const onProgress = (done: number) => done === 500 && controller.abort(reason)
  await t.rejects(a.sync.importBookmarks(numbered(1000), { signal: controller.signal, onProgress }), reason)
  isFull = true
  await t.rejects(a.sync.importBookmarks(numbered(1000)), StorageFullError)
  t.same([shown(a), a.sync.status().waiting], [{}, 0])
})

t.test('a restored backup brings back deleted bookmarks, and with overwrite also old contents', async (t) => {
  const { a, b } = await people.open(t)
  await send(
    a,
    ['x', 'y', 'z', 'v'].map((id) => bookmark(id, 'backed up')),
    b,
  )
  const backup = { bookmarks: [...a.sync.bookmarks().values()] }
  await b.sync.remove(['x', 'y'])
  await send(b, [bookmark('z', 'changed'), bookmark('new', 'new')], a)
  t.same(await a.sync.restoreExport(backup), {
    imported: 2,
    existing: ['z', 'v'],
    repaired: [],
    failed: [],
    reduced: [],
    edited: ['x', 'y'],
  })
  t.same(shown(a), { new: 'new', v: 'backed up', x: 'backed up', y: 'backed up', z: 'changed' })
  const overwritten = await a.sync.restoreExport(backup, { overwrite: true })
  t.same(
    overwritten,
    { imported: 1, existing: ['x', 'y', 'v'], repaired: [], failed: [], reduced: [], edited: ['z'] },
    'only what differs',
  )
  await sync(a, b)
  const all = { new: 'new', v: 'backed up', x: 'backed up', y: 'backed up', z: 'backed up' }
  t.same([shown(a), shown(b)], [all, all])
  t.same([a.conflicts, b.conflicts], [[], []])
})

for (const kind of ['restored', 'imported']) {
  t.test(`a bookmark deleted on another device is ${kind}: it is back, and an unseen delete is reported`, async (t) => {
    const { person, a, b } = await people.open(t)
    const bring = (bookmarks: PlaintextBookmark[]) =>
      kind === 'imported' ? b.sync.importBookmarks(bookmarks) : b.sync.restoreExport({ bookmarks }, { overwrite: true })
    const [x, y] = [bookmark('x', 'x'), bookmark('y', 'y')]
    await send(a, [x, y], b)
    await remove(a, ['x', 'y'], b)
    t.match(await bring([x, y]), { imported: 2, existing: [] })
    await sync(b, a)
    t.same([shown(a), shown(b), a.conflicts, b.conflicts], [...Array(2).fill({ x: 'x', y: 'y' }), [], []])

    await remove(a, ['x', 'y'])
    await person.world.pass(1000)
    t.match(await bring([x, { ...y, title: 'older' }]), { existing: kind === 'imported' ? ['x', 'y'] : ['x'] })
    await sync(b, a)
    const left = { x: 'x', y: kind === 'imported' ? 'y' : 'older' }
    t.same([shown(a), shown(b), await person.stored()], Array(3).fill(left), 'the delete was not seen')
    const told = Object.fromEntries(a.conflicts.map(({ id, mine }) => [id, mine]))
    t.same([told, a.conflicts.length, b.conflicts], [{ x: null, y: null }, 2, []])
  })
}

for (const [how, bring] of [
  ['restored', ({ sync }: Device, bookmarks: PlaintextBookmark[]) => sync.restoreExport({ bookmarks })],
  ['imported', ({ sync }: Device, bookmarks: PlaintextBookmark[]) => sync.importBookmarks(bookmarks)],
  ['put', ({ sync }: Device, bookmarks: PlaintextBookmark[]) => sync.put(bookmarks)],
] as const) {
  t.test(`a bookmark ${how} and deleted before the first pull is deleted on other devices, too`, async (t) => {
    const { person, a, b, c } = await people.open(t, { b: { skew: -3_600_000 } })
    await send(a, [bookmark('gone', 'gone'), bookmark('kept', 'kept')])
    const backup = [...a.sync.bookmarks().values()]
    await person.world.pass(1000)
    await bring(b, backup)
    if (how !== 'put') await b.sync.update('gone', { title: 'edited before that' })
    await remove(b, 'gone')
    await sync(a, c)
    t.same([a, b, c].map(shown), Array(3).fill({ kept: 'kept' }))
    t.same([await person.stored(), a.conflicts, b.conflicts], [{ kept: 'kept' }, [], []])
    if (how === 'put') return
    await send(c, bookmark('later', 'later'))
    await bring(b, [...c.sync.bookmarks().values()])
    await remove(b, 'later')
    await sync(c)
    t.same([b, c].map(shown), Array(2).fill({ kept: 'kept' }), 'one that was sent meanwhile does not come back')
  })
}

t.test('a bookmark can be moved into folders and before others; a folder not into itself', async (t) => {
  const { a, b } = await people.open(t)
  const folder = (id: string, parentId?: string) => ({
    id,
    title: id,
    source: 'bookmarks' as const,
    ...(parentId && { parentId }),
  })
  await a.sync.put([folder('f'), folder('g', 'f'), bookmark('x', 'x'), bookmark('y', 'y'), bookmark('z', 'z')])
  await a.sync.move('x', { parentId: 'f' })
  await a.sync.move('y', { parentId: 'f', before: 'x' })
  await a.sync.move('z', { parentId: 'g' })
  await a.sync.move('g', { parentId: 'f', before: 'y' })
  t.same(outline(a.sync.tree()), 'f[g[z] y x]')
  t.match(a.sync.get('x'), { title: 'x', url: 'https://example.org/x', parentId: 'f' })
  await a.sync.move('y', {})
  await a.sync.move('f', { before: undefined })
  t.same(outline(a.sync.tree()), 'y f[g[z] x]')
  t.notOk('parentId' in (a.sync.get('y') ?? {}))
  await t.rejects(a.sync.move('f', { parentId: 'g' }), RangeError)
  await t.rejects(a.sync.move('f', { parentId: 'f' }), RangeError)
  await t.rejects(a.sync.move('x', { parentId: 'y' }), RangeError)
  await t.rejects(a.sync.move('gone', {}), RangeError)
  await sync(a, b)
  t.same(outline(b.sync.tree()), outline(a.sync.tree()))
})

t.test('signing out without a network erases the data, and reports that the session goes on', async (t) => {
  const { person, a } = await people.open(t)
  await a.sync.put(bookmark('x', 'one'))
  a.network.fate = down
  await t.rejects(a.sync.signOut({ discardUnsent: true }), { name: 'OfflineError' })
  a.network.fate = up
  t.same([shown(a), (await a.store.load()).rows], [{}, []])
  t.equal((await person.user.call('GET', '/api/v1/auth/session')).status, 200)
})

/** Titles, each with its contents in brackets. */
function outline(nodes: TreeNode[]): string {
  return nodes
    .map(({ bookmark, children }) => bookmark.title + (children.length ? `[${outline(children)}]` : ''))
    .join(' ')
}

const existingIds = [...'abcdef']
const listedIds = [...existingIds.slice(0, 2), ...'uvwxyz']
/** No parent of these is in `listedIds`: importing a bookmark's missing folder would move the bookmark into it. */
const existing = bookmarksOf(existingIds, [...existingIds.slice(2), 'gone'])
/** Bookmarks to import. Some may exist under the same id, or have an existing folder as parent. */
const list = bookmarksOf(listedIds, [...listedIds, ...existingIds, 'gone']).map(markedAsByBrowsers)
/** Ids that never exist yet, like those of a file. */
const fileIds = [...'uvwxyz'].map((id) => `file-${id}`)
const listed = bookmarksOf(fileIds, [...fileIds, ...existingIds, 'gone']).map(markedAsByBrowsers)
const rules = fc.constantFrom<ImportRules>({}, { duplicates: 'keep' })
const numRuns = depth(40, 30_000)

t.test('importing any list or file a second time changes nothing', async (t) => {
  const isFirst = fc.asyncProperty(existing, list, async (before, list) =>
    changesNothing(await imported(before, list, {}), list),
  )
  await t.resolves(fc.assert(isFirst, { numRuns }))
  const property = fc.asyncProperty(existing, listed, async (before, file) => {
    return changesNothing(await imported(before, file, {}), readAgain(file))
  })
  await t.resolves(fc.assert(property, { numRuns }))
})

t.test('in every folder, imported bookmarks are below the existing ones, in the order of the list', async (t) => {
  const property = fc.asyncProperty(existing, list, rules, async (before, list, rules) => {
    // `arrange` cuts cycles of folders, so an item may be in another folder than listed.
    const arranged = [...arrange(list)].flatMap(([folder, items]) =>
      items.map(({ id, parentId }) => [id, `${folder?.id} ${parentId}`] as const),
    )
    const folders = new Map(arranged)
    const order = [...folders.keys()]
    const wasIn = contentsOf(buildTree(before))
    for (const [folder, contents] of contentsOf(buildTree(await imported(before, list, rules)))) {
      const [old, additions] = [wasIn.get(folder) ?? [], contents.slice(wasIn.get(folder)?.length ?? 0)]
      if (old.some((id, index) => id !== contents[index])) return false
      // Several listed folders may be merged into one.
      const from = Map.groupBy(additions, (id) => folders.get(id))
      for (const ids of from.values()) {
        if (`${ids}` !== `${order.filter((id) => ids.includes(id))}`) return false
      }
    }
    return true
  })
  await t.resolves(fc.assert(property, { numRuns }))
})

t.test('an import changes only missing positions of existing bookmarks, and loses none of the list', async (t) => {
  const property = fc.asyncProperty(existing, list, rules, async (before, list, rules) => {
    const after = new Map((await imported(before, list, rules)).map((bookmark) => [bookmark.id, bookmark]))
    const isKept = before.every((bookmark) => {
      const position = /^a\d$/.test(bookmark.position ?? '') ? bookmark.position : after.get(bookmark.id)?.position
      return isDeepStrictEqual({ ...bookmark, position }, { position, ...after.get(bookmark.id) })
    })
    const urls = new Set([...after.values()].map(({ url }) => url))
    const exists = new Set(before.map(({ id }) => id))
    return isKept && list.every(({ id, url }) => exists.has(id) || urls.has(url))
  })
  await t.resolves(fc.assert(property, { numRuns }))
})

t.test('an import can handle flat lists, thousands of folders with one title, and thousands of levels', async (t) => {
  const count = depth(2500, 50_000)
  const flat = manyBookmarks(count, () => ({}))
  const sameFolders = manyBookmarks(count, (index) =>
    index % 2 ? { parentId: `${index - 1}` } : { url: undefined, title: 'f' },
  )
  const deep = manyBookmarks(count, (index) => ({ url: undefined, ...(index > 0 && { parentId: `${index - 1}` }) }))
  for (const list of [flat, sameFolders, deep]) {
    t.equal((await planImport(list, [], idsBeside([]))).added.size, count)
    t.ok(await changesNothing(await imported([], list, {}), readAgain(list)))
  }
})

function bookmarksOf(ids: string[], parents: string[]): fc.Arbitrary<PlaintextBookmark[]> {
  const kind = fc.constantFrom<Partial<PlaintextBookmark>>(
    {},
    {},
    ...['personal_toolbar_folder', 'unfiled_bookmarks_folder', 'bookmarks_menu_folder'].map(marked),
    { type: 'separator' },
    { url: 'https://example.org/1' },
    { url: 'https://example.org/2' },
  )
  const fields = fc.record(
    {
      id: fc.constantFrom(...ids),
      title: fc.constantFrom('A', 'B'),
      source: fc.constant('bookmarks' as const),
      parentId: fc.constantFrom(...parents),
      position: fc.constantFrom('a0', 'a1', 'a1', 'zz!', ''),
    },
    { requiredKeys: ['id', 'title', 'source'] },
  )
  const bookmark = fc.tuple(fields, kind).map(([fields, kind]) => ({ ...fields, ...kind }))
  return fc.uniqueArray(bookmark, { selector: ({ id }) => id })
}

function marked(mark: string): Partial<PlaintextBookmark> {
  return { attributes: { [mark]: 'true' } }
}

/** Keeps each mark of a browser's folder once, and only at the top level. */
function markedAsByBrowsers(list: PlaintextBookmark[]): PlaintextBookmark[] {
  const marks = new Set<string>()
  return list.map((bookmark) => {
    const { attributes, ...unmarked } = bookmark
    const [mark] = Object.keys(attributes ?? {})
    if (mark === undefined || marks.has(mark) || bookmark.parentId !== undefined) return unmarked
    marks.add(mark)
    return bookmark
  })
}

/** The list as if its file was read again, with other ids. Parents outside of the list stay. */
function readAgain(list: PlaintextBookmark[]): PlaintextBookmark[] {
  const ids = new Map(list.map(({ id }) => [id, `file-again-${id}`]))
  return list.map(({ parentId, ...bookmark }) => ({
    ...bookmark,
    id: ids.get(bookmark.id) as string,
    ...(parentId !== undefined && { parentId: ids.get(parentId) ?? parentId }),
  }))
}

async function changesNothing(before: PlaintextBookmark[], list: PlaintextBookmark[]): Promise<boolean> {
  const { added, changed } = await planImport(list, buildTree(before), idsBeside(before))
  return added.size === 0 && changed.size === 0
}

async function imported(before: PlaintextBookmark[], list: PlaintextBookmark[], rules: ImportRules) {
  const { added, changed } = await planImport(list, buildTree(before), idsBeside(before), rules)
  return [...before.map((bookmark) => changed.get(bookmark.id) ?? bookmark), ...added.values()]
}

/** The ids in each folder, in order. */
function contentsOf(tree: TreeNode[]): Map<string, string[]> {
  const all = new Map([['top', tree]])
  for (const nodes of all.values()) for (const { bookmark, children } of nodes) all.set(bookmark.id, children)
  return new Map([...all].map(([folder, nodes]) => [folder, nodes.map(({ bookmark }) => bookmark.id)]))
}

function manyBookmarks(
  count: number,
  fieldsOf: (index: number) => Partial<Record<keyof PlaintextBookmark, string | undefined>>,
) {
  return Array.from({ length: count }, (_, index) => {
    const plain = { id: `${index}`, title: 'title', source: 'bookmarks', url: `https://example.org/${index}` }
    const fields = Object.entries({ ...plain, ...fieldsOf(index) }).filter(([, value]) => value !== undefined)
    return Object.fromEntries(fields) as unknown as PlaintextBookmark
  })
}
