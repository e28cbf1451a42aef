import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { buildTree } from '../../../src/client/bookmark/build-tree.ts'
import type { TreeNode } from '../../../src/client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { undoable } from '../../../src/client/undo.ts'
import { depth } from '../../support/depth.ts'
import { bookmarksIn } from '../bookmark-file/samples.ts'
import { Ledger } from '../chaos/ledger.ts'
import { bookmark, type Device, openPeople, openVault, type Person, remove, shown, sync } from './device.ts'

const people = await openPeople()
const link = (title: string) => `<DT><A HREF="https://example.org/${title}">${title}</A>`
const folder = (title: string, ...items: string[]) => `<DT><H3>${title}</H3>${list(...items)}`
const list = (...items: string[]) => `<DL><p>${items.join('')}</DL><p>`

t.test('a file that several devices import before the first sync is there once, next to other bookmarks', async (t) => {
  const { a, b, c } = await people.open(t)
  const file = list(link('x'), folder('f', link('x'), link('x'), '<HR>', folder('f', link('x'))), link('y'))
  for (const device of [a, b, c]) {
    await device.sync.put(bookmark(`own of ${device.id}`, device.id))
    await device.sync.importBookmarks(bookmarksIn(file))
  }
  await sync(a, b, c, a, b)
  for (const { sync } of [a, b, c]) t.match(outline(sync.tree()), /^[abc] [abc] [abc] x f\[x x {2}f\[x\]\] y$/)
  t.same([a.conflicts, b.conflicts, c.conflicts], [[], [], []])
})

t.test('importing a file again brings its deleted bookmarks back, here and on other devices', async (t) => {
  const { a, b } = await people.open(t)
  const file = list(folder('f', link('x'), link('x')), link('y'))
  const whole = 'f[x x] y'
  const bring = ({ sync }: Device) => sync.importBookmarks(bookmarksIn(file))
  await bring(a)
  const ids = () => [...a.sync.bookmarks().keys()].sort()
  const before = ids()
  await a.sync.remove(before)
  await bring(a)
  t.same([outline(a.sync.tree()), ids()], [whole, before], 'the file comes back before it was sent')
  await sync(a, b)
  await remove(a, before, b)
  await bring(b)
  await sync(b, a)
  t.same([outline(a.sync.tree()), outline(b.sync.tree()), a.conflicts, b.conflicts], [whole, whole, [], []])

  const [f] = a.sync.tree()
  await remove(a, f?.bookmark.id ?? '', b)
  await bring(b)
  await sync(b, a)
  t.match(outline(a.sync.tree()), /^(x x y|y x x) f\[x x\]$/, 'deleting only a folder keeps its contents')
})

t.test('duplicates that an import keeps get new ids, the same on both devices', async (t) => {
  const { a, b } = await people.open(t)
  const file = list(link('x'), link('x'))
  for (const device of [a, a, b, b]) await device.sync.importBookmarks(bookmarksIn(file), { duplicates: 'keep' })
  await sync(a, b, a)
  t.same([outline(a.sync.tree()), outline(b.sync.tree())], ['x x x x', 'x x x x'])
  t.same([a.conflicts, b.conflicts], [[], []])
})

t.test("a bookmark that was moved or renamed is not taken for the file's entry at its old place", async (t) => {
  const { a } = await people.open(t)
  const file = list(folder('f', link('x')))
  await a.sync.importBookmarks(bookmarksIn(file))
  const x = [...a.sync.bookmarks().values()].find(({ title }) => title === 'x')
  await a.sync.move(x?.id ?? '', {})
  await a.sync.importBookmarks(bookmarksIn(file))
  t.equal(outline(a.sync.tree()), 'f[x] x')
})

const first = list(folder('f', link('x'), link('y')))
/** The same bookmarks from another browser, of which x has another title, a description and a tag. */
const second = first.replace('>x<', ' TAGS="t">ex<').replace('ex</A>', 'ex</A><DD>described')

function named({ sync }: Device, name: string): PlaintextBookmark {
  const found = [...sync.bookmarks().values()].find(({ url, title }) => (url ?? title) === name)
  if (!found) throw new Error(`There is no ${name}`)
  return found
}

const urlOf = (name: string) => `https://example.org/${name}`

t.test('a bookmark keeps its edits when a device that has not pulled imports or restores it', async (t) => {
  const { person, a, b, c } = await people.open(t)
  await c.sync.importBookmarks(bookmarksIn(second))
  const backup = { bookmarks: [...c.sync.bookmarks().values()] }
  await a.sync.importBookmarks(bookmarksIn(first))
  await sync(a)
  const { id } = named(a, urlOf('x'))
  await a.sync.update(id, { title: 'edited', parentId: 'elsewhere' })
  await sync(a)
  const there = a.sync.bookmarks()
  await person.world.pass(1000)
  await b.sync.importBookmarks(bookmarksIn(second))
  const d = person.device('d')
  await d.sync.restoreExport(backup)
  await sync(b, c, d, a)
  for (const { sync, conflicts } of [a, b, c, d]) t.same([sync.bookmarks(), conflicts], [there, []])
  t.equal(b.network.count('push'), 0, 'nothing was sent')
})

t.test('a field that an edit has removed stays removed when an older import arrives', async (t) => {
  const { person, a, b } = await people.open(t)
  await b.sync.importBookmarks(bookmarksIn(second))
  await person.world.pass(1000)
  await a.sync.importBookmarks(bookmarksIn(second))
  await sync(a)
  const { id } = named(a, urlOf('x'))
  await a.sync.update(id, { tags: [], description: undefined })
  await sync(a, b, a)
  t.match(b.sync.get(id), { tags: [], description: undefined })
  t.same([b.sync.bookmarks(), a.conflicts, b.conflicts], [a.sync.bookmarks(), [], []])
})

t.test('an edit of an imported bookmark wins over an import elsewhere, even a later one', async (t) => {
  const { person, a, b } = await people.open(t)
  await b.sync.importBookmarks(bookmarksIn(first))
  const { id } = named(b, urlOf('x'))
  await b.sync.update(id, { title: 'mine', description: 'mine' })
  await person.world.pass(1000)
  await a.sync.importBookmarks(bookmarksIn(second))
  await sync(a, b, a)
  t.match(a.sync.get(id), { title: 'mine', description: 'mine', tags: ['t'] })
  t.same([b.sync.bookmarks(), a.conflicts, b.conflicts], [a.sync.bookmarks(), [], []])
})

t.test('if two devices edit a bookmark that both imported, one gets a conflict', async (t) => {
  const { person, a, b } = await people.open(t)
  await b.sync.importBookmarks(bookmarksIn(first))
  const { id } = named(b, urlOf('x'))
  await b.sync.update(id, { title: 'mine' })
  await person.world.pass(1000)
  await a.sync.importBookmarks(bookmarksIn(second))
  await a.sync.update(id, { title: "a's" })
  await sync(a, b, a)
  t.same(b.sync.bookmarks(), a.sync.bookmarks())
  t.match([...a.conflicts, ...b.conflicts], [{ id, fields: ['title'] }])
  t.equal([...a.conflicts, ...b.conflicts].length, 1)
})

t.test('an edit of an imported bookmark counts, not its import, whichever device is first', async (t) => {
  for (const isFirst of [true, false]) {
    const { person, a, b } = await people.open(t)
    await a.sync.importBookmarks(bookmarksIn(first))
    await person.world.pass(1000)
    await b.sync.importBookmarks(bookmarksIn(second))
    const { id } = named(b, urlOf('x'))
    await b.sync.update(id, { url: 'https://example.com/' })
    await b.sync.move(named(b, urlOf('y')).id, {})
    await person.world.pass(1000)
    await a.sync.update(id, { title: "a's" })
    await sync(...(isFirst ? [b, a, b] : [a, b, a]))
    t.match(a.sync.get(id), { title: "a's", url: 'https://example.com/' })
    t.equal(named(a, urlOf('y')).parentId, undefined)
    t.same(b.sync.bookmarks(), a.sync.bookmarks())
    t.same([a.conflicts, b.conflicts, a.sync.bookmarks().size], [[], [], 3])
  }
})

t.test('of an unseen delete and an unseen import the later wins, and a lost delete is reported', async (t) => {
  const { person, a, b, c } = await people.open(t)
  await c.sync.importBookmarks(bookmarksIn(first))
  await person.world.pass(1000)
  await a.sync.importBookmarks(bookmarksIn(first))
  await sync(a)
  await remove(a, named(a, urlOf('x')).id)
  await person.world.pass(1000)
  await sync(c)
  t.equal(outline(c.sync.tree()), 'f[y]')
  await b.sync.importBookmarks(bookmarksIn(first))
  await sync(b, a, c)
  t.same(
    [a, b, c].map(({ sync }) => outline(sync.tree())),
    Array(3).fill('f[x y]'),
  )
  t.match([a.conflicts, b.conflicts, c.conflicts], [[{ mine: null, theirs: { url: urlOf('x') } }], [], []])
  t.equal(a.conflicts.length, 1)
})

t.test('of an import elsewhere and the delete of an unsent import the later wins', async (t) => {
  for (const isDeleteLater of [true, false]) {
    const { person, a, b } = await people.open(t)
    await b.sync.importBookmarks(bookmarksIn(first))
    const bring = async () => {
      await person.world.pass(1000)
      await a.sync.importBookmarks(bookmarksIn(first))
      await sync(a)
    }
    if (isDeleteLater) await bring()
    await person.world.pass(1000)
    await b.sync.remove(named(b, urlOf('x')).id)
    if (!isDeleteLater) await bring()
    await person.world.pass(1000)
    await sync(b, a)
    const wanted = isDeleteLater ? 'f[y]' : 'f[x y]'
    t.same([outline(a.sync.tree()), outline(b.sync.tree())], [wanted, wanted])
    t.same([a.conflicts.length, b.conflicts.length], [0, isDeleteLater ? 0 : 1])
  }
})

t.test('an import restores bookmarks deleted before it, even if the delete arrives later', async (t) => {
  const backup = { bookmarks: ['x', 'y', 'z'].map((id) => bookmark(id, id)) }
  const ways: [string, (device: Device) => Promise<unknown>][] = [
    ['imported', ({ sync }) => sync.importBookmarks(bookmarksIn(first))],
    ['restored', ({ sync }) => sync.restoreExport(backup)],
    ['reset', ({ sync }) => sync.restoreExport(backup, { overwrite: true })],
  ]
  for (const [name, bring] of ways)
    for (const hasPulled of [true, false])
      for (const isDeleteLater of [true, false]) {
        const { person, a, b } = await people.open(t)
        await bring(b)
        await sync(...(hasPulled ? [b, a] : [b]))
        const importing = async () => {
          await person.world.pass(1000)
          await bring(a)
        }
        if (isDeleteLater) await importing()
        await person.world.pass(1000)
        await b.sync.remove([...b.sync.bookmarks().keys()])
        if (!isDeleteLater) await importing()
        // The import is merged with the existing bookmarks before the delete arrives.
        await sync(a, b, a, b)
        const sizes = [a, b].map(({ sync }) => sync.bookmarks().size)
        t.same(sizes, isDeleteLater ? [0, 0] : [3, 3], `${name} ${hasPulled} ${isDeleteLater}`)
        t.same([a.conflicts.length, b.conflicts.length], [0, isDeleteLater ? 0 : 3], 'the lost delete is reported')
      }
})

t.test('a later edit or move wins over the delete of an import that was not sent', async (t) => {
  const patches: Partial<PlaintextBookmark>[] = [{ title: 'later' }, { parentId: 'elsewhere' }]
  for (const [index, patch] of [...patches, ...patches].entries()) {
    const { person, a, b } = await people.open(t)
    await b.sync.importBookmarks(bookmarksIn(first))
    const { id } = named(b, urlOf('x'))
    await b.sync.remove(id)
    await person.world.pass(1000)
    await a.sync.importBookmarks(bookmarksIn(first))
    await sync(a)
    await person.world.pass(1000)
    await a.sync.update(id, patch)
    await person.world.pass(1000)
    // The order of arrival must not make the delete later.
    if (index < patches.length) await sync(a, b)
    else await sync(b, a, b)
    t.match([a.sync.get(id), b.sync.get(id)], [patch, patch])
  }
})

t.test('undoing an import before the first pull deletes nothing on other devices', async (t) => {
  const { a, b } = await people.open(t)
  await a.sync.importBookmarks(bookmarksIn(first))
  await sync(a)
  const edits = undoable(b.sync)
  await edits.importBookmarks(bookmarksIn(second))
  await edits.undo()
  t.equal(b.sync.status().waiting, 0)
  await sync(b, a)
  t.same([outline(b.sync.tree()), outline(a.sync.tree())], ['f[x y]', 'f[x y]'])
})

t.test('undoing an import keeps what another device had imported before', async (t) => {
  const { a, b } = await people.open(t)
  await a.sync.importBookmarks(bookmarksIn(list(folder('f', link('x')))))
  await sync(a)
  const edits = undoable(b.sync)
  await edits.importBookmarks(bookmarksIn(first))
  await sync(b)
  const { changed } = (await edits.undo()) ?? {}
  await sync(b, a)
  t.same([outline(b.sync.tree()), outline(a.sync.tree()), changed?.length], ['f[x]', 'f[x]', 2])
})

t.test('undoing an import keeps what another device has imported as well, in any order', async (t) => {
  for (const order of ['yielded', 'not sent', 'there already', 'later'] as const) {
    const { person, a, b } = await people.open(t)
    const edits = undoable(a.sync)
    const bring = () => b.sync.importBookmarks(bookmarksIn(first))
    if (order === 'yielded' || order === 'not sent') await bring()
    await person.world.pass(1000)
    await edits.importBookmarks(bookmarksIn(second))
    await sync(a)
    if (order !== 'not sent' && order !== 'later') await sync(b)
    if (order === 'there already') await bring()
    await person.world.pass(1000)
    await edits.undo()
    t.equal(a.sync.bookmarks().size, 0)
    await person.world.pass(1000)
    if (order === 'later') await bring()
    await sync(a, b, a)
    t.same([a.sync.bookmarks().size, b.sync.bookmarks().size], [3, 3], order)
    t.same([a.conflicts, b.conflicts], [[], []])
  }
})

t.test('a redone import survives the undo of another import of the same file', async (t) => {
  const { a, b } = await people.open(t)
  const [ofA, ofB] = [undoable(a.sync), undoable(b.sync)]
  await ofB.importBookmarks(bookmarksIn(first))
  await sync(b)
  await ofA.importBookmarks(bookmarksIn(first))
  await ofA.undo()
  await sync(a)
  t.equal((await ofA.redo())?.changed.length, 3)
  await ofB.undo()
  await sync(b, a, b)
  t.same([a.sync.bookmarks().size, b.sync.bookmarks().size], [3, 3])
})

t.test('if two devices undo their imports, what both imported is deleted', async (t) => {
  const { a, b } = await people.open(t)
  const [ofA, ofB] = [undoable(a.sync), undoable(b.sync)]
  await ofB.importBookmarks(bookmarksIn(first))
  await ofA.importBookmarks(bookmarksIn(first))
  await sync(a, b)
  for (const edits of [ofB, ofA]) {
    await edits.undo()
    await sync(a, b, a)
  }
  t.same([a.sync.bookmarks().size, b.sync.bookmarks().size], [0, 0])
})

t.test('undoing an import keeps bookmarks that another device edited before it received the undo', async (t) => {
  const { person, a, b } = await people.open(t)
  const edits = undoable(a.sync)
  await edits.importBookmarks(bookmarksIn(first))
  await sync(a, b)
  await person.world.pass(1000)
  await b.sync.update(named(b, urlOf('x')).id, { title: 'edited' })
  await person.world.pass(1000)
  await edits.undo()
  await sync(b, a, b)
  t.same([outline(a.sync.tree()), outline(b.sync.tree())], ['edited', 'edited'])
})

t.test('if a file was imported twice before sending, the later import counts against a delete', async (t) => {
  const { person, a, b } = await people.open(t)
  const bring = ({ sync }: Device) => sync.importBookmarks(bookmarksIn(first))
  await bring(a)
  await person.world.pass(1000)
  await bring(b)
  await sync(b)
  await person.world.pass(1000)
  await remove(b, [...b.sync.bookmarks().keys()])
  await person.world.pass(1000)
  await bring(a)
  await sync(a, b)
  t.same([a.sync.bookmarks().size, b.sync.bookmarks().size], [3, 3])
})

t.test('undoing an import deletes what it had brought back, with the time of the original delete', async (t) => {
  for (const [isImportLater, wasSent] of [
    [true, true],
    [false, true],
    [true, false],
    [false, false],
  ]) {
    const { person, a, b } = await people.open(t)
    const edits = undoable(b.sync)
    await b.sync.importBookmarks(bookmarksIn(first))
    if (wasSent) await sync(b)
    const importing = async () => {
      await person.world.pass(1000)
      await a.sync.importBookmarks(bookmarksIn(first))
      await sync(a)
    }
    if (!isImportLater) await importing()
    await person.world.pass(1000)
    await b.sync.remove([...b.sync.bookmarks().keys()])
    if (isImportLater) await importing()
    await person.world.pass(1000)
    await edits.importBookmarks(bookmarksIn(first))
    await edits.undo()
    await sync(b, a, b)
    t.same([a.sync.bookmarks().size, b.sync.bookmarks().size], isImportLater ? [3, 3] : [0, 0])
  }
})

t.test('a redone import yields to later edits, too', async (t) => {
  const { person, a, b } = await people.open(t)
  await a.sync.importBookmarks(bookmarksIn(first))
  await a.sync.update(named(a, urlOf('x')).id, { title: 'edited' })
  await sync(a)
  await person.world.pass(1000)
  const edits = undoable(b.sync)
  await edits.importBookmarks(bookmarksIn(first))
  await edits.undo()
  await edits.redo()
  t.equal(b.sync.bookmarks().size, 3)
  await sync(b, a)
  t.same([outline(b.sync.tree()), outline(a.sync.tree())], ['f[edited y]', 'f[edited y]'])
  t.same([a.conflicts, b.conflicts], [[], []])
})

t.test(
  'URLs in different Unicode forms are two bookmarks, while titles in different forms are one folder',
  async (t) => {
    const { a, b } = await people.open(t)
    const [composed, decomposed] = ['\u00e9', 'e\u0301']
    for (const [device, letter] of [
      [a, composed],
      [b, decomposed],
    ] as const) {
      await device.sync.importBookmarks(bookmarksIn(list(folder(letter, link(letter)))))
    }
    await sync(a, b, a)
    t.match(outline(a.sync.tree()).normalize('NFC'), /^\u00e9\[\u00e9 \u00e9\]$/)
  },
)

t.test('a restored backup yields to later edits; with overwrite it replaces them and reports it', async (t) => {
  const { person, a, b, c } = await people.open(t)
  await a.sync.put(bookmark('x', 'backed up', { tags: ['old'] }))
  const backup = { bookmarks: [...a.sync.bookmarks().values()] }
  await a.sync.update('x', { title: 'edited', tags: [] })
  await sync(a)
  await person.world.pass(1000)
  await b.sync.restoreExport(backup)
  await sync(b, a)
  t.same([shown(a), shown(b), a.conflicts, b.conflicts], [{ x: 'edited' }, { x: 'edited' }, [], []])
  await person.world.pass(1000)
  await c.sync.restoreExport(backup, { overwrite: true })
  await sync(c, a, b)
  t.same([shown(a), shown(c), c.conflicts], [{ x: 'backed up' }, { x: 'backed up' }, []])
  t.match([...a.conflicts, ...b.conflicts], [{ mine: { title: 'edited' } }])
})

t.test('a rotation of the keys leaves the ids as they are', async (t) => {
  const { a, b, vault } = await openVault(t)
  const file = list(link('x'), folder('f', link('x')))
  await b.sync.importBookmarks(bookmarksIn(file))
  const ids = [...b.sync.bookmarks().keys()]
  await a.sync.adoptKeys(await vault.rotate())
  await a.sync.importBookmarks(bookmarksIn(file))
  t.same([...a.sync.bookmarks().keys()], ids)
})

t.test('the ids reveal nothing, because they differ with other keys', async (t) => {
  const { a } = await people.open(t)
  const { b } = await people.open(t)
  for (const device of [a, b]) await device.sync.importBookmarks(bookmarksIn(list(link('x'))))
  const [[one], [other]] = [Object.keys(shown(a)), Object.keys(shown(b))]
  t.match(one, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.not(one, other)
})

type Item = { title: string; inside?: Item[] }
const { file } = fc.letrec<{ file: Item[]; item: Item; link: Item; folder: Item }>((tie) => ({
  file: fc.array(tie('item'), { maxLength: 4 }),
  item: fc.oneof({ maxDepth: 2, withCrossShrink: true }, tie('link'), tie('link'), tie('folder')),
  link: fc.record({ title: fc.constantFrom('x', 'y', 'z') }),
  folder: fc.record({ title: fc.constantFrom('f', 'g'), inside: tie('file') }),
}))
const action = fc.record({
  on: fc.constantFrom('a', 'b', 'c'),
  what: fc.constantFrom('import', 'import', 'sync', 'delete'),
  which: fc.nat(20),
})
const actions = fc.array(action, { maxLength: 10 })
const numRuns = depth(10, 1000)

t.test('after imports and syncs of three devices in any order, all have the file once and in order', async (t) => {
  const property = fc.asyncProperty(file, actions, async (file, actions) => {
    const devices = openThree(await people.person(t))
    // The next test adds deletes.
    for (const { on, what } of actions) {
      if (what === 'import') await bring(devices[on], file)
      else await sync(devices[on])
    }
    await bring(devices.a, file)
    const outlines = await settled(devices)
    const conflicts = Object.values(devices).flatMap((device) => device.conflicts)
    const wanted = outline(buildTree(bookmarksIn(htmlOf(file))))
    return conflicts.length === 0 && outlines.every((found) => found === wanted)
  })
  await t.resolves(fc.assert(property, { numRuns }))
})

t.test('with deletes in between nothing is duplicated, and the next import restores what is missing', async (t) => {
  const property = fc.asyncProperty(file, actions, async (file, actions) => {
    const devices = openThree(await people.person(t))
    for (const { on, what, which } of actions) {
      const { sync: replica } = devices[on]
      if (what === 'import') await bring(devices[on], file)
      else if (what === 'sync') await sync(devices[on])
      else {
        const links = [...replica.bookmarks().values()].filter(({ url }) => url !== undefined)
        await replica.remove(links.slice(which, which + 2).map(({ id }) => id))
      }
    }
    await bring(devices.a, file)
    const [one, other, third] = await settled(devices)
    const { imported } = await devices.a.sync.importBookmarks(bookmarksIn(htmlOf(file)))
    const wanted = countPaths(bookmarksIn(htmlOf(file)))
    const found = countPaths([...devices.a.sync.bookmarks().values()])
    const isOnce = [...found].every(([path, count]) => count <= (wanted.get(path) ?? 0))
    const isThere = [...wanted.keys()].every((path) => found.has(path))
    const links = [...wanted.values()].reduce((sum, count) => sum + count, 0)
    return one === other && other === third && isOnce && isThere && imported <= links
  })
  await t.resolves(fc.assert(property, { numRuns }))
})

/** Overlapping files. Their common bookmarks have other titles and tags in each. */
const files = [1, 2, 3].map((version) => (lacks: number) => {
  const one = (name: string, index: number) => {
    const url = `https://example.org/${name}`
    return (lacks >> index) & 1
      ? ''
      : `<DT><A HREF="${url}" TAGS="t${version}">${name} ${version}</A><DD>${version % 2 ? '' : version}`
  }
  const inside = folder('f', one('a', 0), one('b', 1), folder('g', one('c', 2), one('a', 3)))
  return list(
    one('d', 4),
    version === 2 ? `${one('b', 1)}${inside}` : `${inside}${one('b', 1)}`,
    one('e', 5),
    one('e', 5),
  )
})
const step = fc.record({
  on: fc.constantFrom('a', 'b', 'c'),
  what: fc.constantFrom('import', 'import', 'sync', 'title', 'description', 'tag', 'move', 'remove', 'again'),
  version: fc.nat(2),
  lacks: fc.nat(63),
  which: fc.nat(20),
})

t.test(
  'with edits, moves and deletes between imports of overlapping files, nothing is lost or duplicated',
  async (t) => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 16 }), async (steps) => {
      const person = await people.person(t)
      const devices = openThree(person)
      const ledger = new Ledger()
      const touched = new Set<string>()
      const deleted = new Set<string>()
      for (const { sync } of Object.values(devices))
        sync.on('conflict', (conflict) => {
          ledger.keep(conflict)
          ledger.tell(conflict)
        })
      for (const [index, { on, what, version, lacks, which }] of steps.entries()) {
        await person.world.pass(1000)
        const { sync } = devices[on]
        const shown = [...sync.bookmarks().values()]
        const saw = shown[which % (shown.length || 1)]
        const edit = async (patch: Partial<PlaintextBookmark>) => {
          if (!saw) return
          touched.add(saw.id)
          const answer = ledger.begin(on, saw.id, patch, saw)
          await sync.update(saw.id, patch)
          answer('kept')
        }
        if (what === 'sync') await settle(devices[on])
        else if (what === 'title') await edit({ title: `title ${index}` })
        else if (what === 'description') await edit({ description: `description ${index}` })
        else if (what === 'tag') await edit({ tags: [...(saw?.tags ?? []), `tag ${index}`] })
        else if (what === 'move') {
          const place = shown[(which * 7) % (shown.length || 1)]
          const isInside = place?.url === undefined && saw?.url !== undefined
          if (saw?.url !== undefined) await edit({ parentId: isInside ? (place?.id ?? '') : 'elsewhere' })
        } else if (what === 'remove') {
          const gone = saw ? [saw.id, ...shown.filter((one) => isInside(one, saw.id, sync)).map(({ id }) => id)] : []
          const answers = gone.map((id) => ledger.begin(on, id, null, sync.get(id)))
          await sync.remove(gone)
          for (const answer of answers) answer('kept')
          for (const id of gone) touched.add(id) && deleted.add(id)
        } else {
          const html = files[version]?.(what === 'again' ? 0 : lacks) ?? ''
          const { edited } = await sync.importBookmarks(bookmarksIn(html))
          ledger.undelete(edited.filter((id) => deleted.has(id)))
        }
      }
      await person.world.pass(1000)
      for (const device of Object.values({ ...devices, ...devices })) await settle(device)
      for (const device of [...Object.values(devices), ...Object.values(devices)]) await settle(device)
      const [one, other, third] = Object.values(devices).map(({ sync }) => new Map([...sync.bookmarks()].sort()))
      const strange = Object.values(devices)
        .flatMap(({ conflicts }) => conflicts)
        .filter(({ id }) => !touched.has(id))
      const unmoved = [...(one ?? [])].flatMap(([id, bookmark]) => (touched.has(id) ? [] : bookmark))
      const doubled = [...Map.groupBy(unmoved, ({ parentId, url, title }) => `${parentId} ${url ?? title}`)]
      const most = (place: string) => (place === 'undefined https://example.org/e' ? 2 : 1)
      return fault({
        differ: isDeepStrictEqual(one, other) && isDeepStrictEqual(one, third) ? [] : [one, other, third],
        lost: ledger.faults(one ?? new Map()),
        strange,
        doubled: doubled.filter(([place, { length }]) => length > most(place)),
      })
    })
    await t.resolves(fc.assert(property, { numRuns: depth(12, 3000) }))
  },
)

function fault(found: Record<string, unknown[]>): boolean {
  const faults = Object.entries(found).filter(([, { length }]) => length > 0)
  if (faults.length > 0) throw new Error(JSON.stringify(faults))
  return true
}

function isInside({ parentId }: PlaintextBookmark, folder: string, sync: Device['sync']): boolean {
  const parent = parentId === undefined ? undefined : sync.get(parentId)
  return parent !== undefined && (parent.id === folder || isInside(parent, folder, sync))
}

async function settle({ sync }: Device): Promise<void> {
  await sync.syncNow()
  await sync.approveDeletions(sync.status().heldDeletions?.count ?? 0)
}

type Three = Record<'a' | 'b' | 'c', Device>

function openThree(person: Person): Three {
  return { a: person.device('a'), b: person.device('b'), c: person.device('c') }
}

function htmlOf(items: readonly Item[]): string {
  return list(...items.map(({ title, inside }) => (inside ? folder(title, htmlOf(inside)) : link(title))))
}

async function bring({ sync }: Device, file: readonly Item[]): Promise<void> {
  await sync.importBookmarks(bookmarksIn(htmlOf(file)))
}

async function settled({ a, b, c }: Three): Promise<string[]> {
  await sync(a, b, c, a, b, c, a)
  return [a, b, c].map(({ sync }) => outline(sync.tree()))
}

/** How often each bookmark exists, by the titles of its folders and its own. */
function countPaths(bookmarks: readonly PlaintextBookmark[]): Map<string, number> {
  const counts = new Map<string, number>()
  const visit = (nodes: readonly TreeNode[], path: string) => {
    for (const { bookmark, children } of nodes) {
      const name = `${path}/${bookmark.title}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
      visit(children, name)
    }
  }
  visit(buildTree(bookmarks), '')
  return counts
}

/** Titles, each with its contents in brackets. */
function outline(nodes: readonly TreeNode[]): string {
  const one = ({ bookmark, children }: TreeNode) => bookmark.title + (children.length ? `[${outline(children)}]` : '')
  return nodes.map(one).join(' ')
}
