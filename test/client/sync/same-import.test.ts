import fc from 'fast-check'
import t from 'tap'
import { buildTree } from '../../../src/client/bookmark/build-tree.ts'
import type { TreeNode } from '../../../src/client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { depth } from '../../support/depth.ts'
import { bookmarksIn } from '../bookmark-file/samples.ts'
import { bookmark, type Device, openPeople, openVault, type Person, remove, shown, sync } from './device.ts'

const people = await openPeople()
const link = (title: string) => `<DT><A HREF="https://example.org/${title}">${title}</A>`
const folder = (title: string, ...items: string[]) => `<DT><H3>${title}</H3>${list(...items)}`
const list = (...items: string[]) => `<DL><p>${items.join('')}</DL><p>`

t.test('what devices import before they have synced is there once, also if they add their own', async (t) => {
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

t.test('what was imported and deleted comes back with the same file, here and elsewhere', async (t) => {
  const { a, b } = await people.open(t)
  const file = list(folder('f', link('x'), link('x')), link('y'))
  const whole = 'f[x x] y'
  const bring = ({ sync }: Device) => sync.importBookmarks(bookmarksIn(file))
  await bring(a)
  const ids = () => [...a.sync.bookmarks().keys()].sort()
  const before = ids()
  await a.sync.remove(before)
  await bring(a)
  t.same([outline(a.sync.tree()), ids()], [whole, before], 'before it was sent')
  await sync(a, b)
  await remove(a, before, b)
  await bring(b)
  await sync(b, a)
  t.same([outline(a.sync.tree()), outline(b.sync.tree()), a.conflicts, b.conflicts], [whole, whole, [], []])

  const [f] = a.sync.tree()
  await remove(a, f?.bookmark.id ?? '', b)
  await bring(b)
  await sync(b, a)
  t.match(outline(a.sync.tree()), /^(x x y|y x x) f\[x x\]$/, 'a folder alone leaves what was in it')
})

t.test('what is kept beside its duplicates gets ids of its own, the same on both devices', async (t) => {
  const { a, b } = await people.open(t)
  const file = list(link('x'), link('x'))
  for (const device of [a, a, b, b]) await device.sync.importBookmarks(bookmarksIn(file), { duplicates: 'keep' })
  await sync(a, b, a)
  t.same([outline(a.sync.tree()), outline(b.sync.tree())], ['x x x x', 'x x x x'])
  t.same([a.conflicts, b.conflicts], [[], []])
})

t.test('what was moved or renamed since is not taken for what the file has in its place', async (t) => {
  const { a } = await people.open(t)
  const file = list(folder('f', link('x')))
  await a.sync.importBookmarks(bookmarksIn(file))
  const x = [...a.sync.bookmarks().values()].find(({ title }) => title === 'x')
  await a.sync.move(x?.id ?? '', {})
  await a.sync.importBookmarks(bookmarksIn(file))
  t.equal(outline(a.sync.tree()), 'f[x] x')
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

t.test('the ids tell nothing: under other keys they are others', async (t) => {
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
const numRuns = depth(40, 1000)

t.test('however imports and exchanges of up to three devices fall, all have the file once, in its order', async (t) => {
  const property = fc.asyncProperty(file, actions, async (file, actions) => {
    const devices = openThree(await people.person(t))
    // Deletes are the next test's.
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

t.test('with deletes among them nothing is doubled, and the next import brings back what is missing', async (t) => {
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
    return one === other && other === third && isOnce && isThere && imported <= wanted.size
  })
  await t.resolves(fc.assert(property, { numRuns }))
})

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

/** How often each is there, by its folders' titles and its own. */
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

/** Titles, with what is inside in brackets. */
function outline(nodes: readonly TreeNode[]): string {
  const one = ({ bookmark, children }: TreeNode) => bookmark.title + (children.length ? `[${outline(children)}]` : '')
  return nodes.map(one).join(' ')
}
