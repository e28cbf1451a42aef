import fc from 'fast-check'
import { generateKeyBetween } from 'fractional-indexing'
import t from 'tap'
import { buildTree, type PlaintextBookmark, type TreeNode } from '../../src/client/index.ts'
import { placeBetween } from '../../src/client/sync/edits/move.ts'
import { depth } from '../support/depth.ts'
import { folder, link } from './bookmark-file/samples.ts'

/** The ids of a tree, with a folder's children in brackets. */
function outline(nodes: TreeNode[]): string {
  return nodes
    .map(({ bookmark, children }) => bookmark.id + (children.length ? `[${outline(children)}]` : ''))
    .join(' ')
}

t.test('bookmarks are in their folders, in order of position, then date, then id', async (t) => {
  const bookmarks = [
    link('none-b'),
    link('late', { position: 'a2', parentId: 'f' }),
    link('none-a'),
    link('dated', { dateAdded: '2026-01-01T00:00:00.000Z' }),
    folder('f', { position: 'a1' }),
    link('early', { position: 'Zz', parentId: 'f' }),
    link('same-2', { position: 'a3', dateAdded: '2026-01-02T00:00:00.000Z' }),
    link('same-1', { position: 'a3', dateAdded: '2026-01-01T00:00:00.000Z' }),
    link('upper', { position: 'Zz' }),
  ]
  const expected = 'upper f[early late] same-1 same-2 dated none-a none-b'
  t.equal(outline(buildTree(bookmarks)), expected)
  t.equal(outline(buildTree(bookmarks.toReversed())), expected)
})

t.test('a bookmark whose parent is missing, a link or a separator is at the top level', async (t) => {
  const bookmarks = [
    link('a', { parentId: 'nowhere' }),
    link('b', { parentId: 'a' }),
    link('c', { parentId: 's' }),
    folder('s', { type: 'separator' }),
    link('d', { parentId: 'd' }),
  ]
  t.equal(outline(buildTree(bookmarks)), 'a b c d s')
})

t.test('of folders inside each other, the one changed last is at the top level, then the greatest id', async (t) => {
  const cycle = [
    folder('a', { parentId: 'c' }),
    folder('b', { parentId: 'a' }),
    folder('c', { parentId: 'b' }),
    link('x', { parentId: 'b' }),
    folder('tail', { parentId: 'c' }),
  ]
  const times: Record<string, number> = { a: 5, b: 7, c: 6, tail: 99 }
  t.equal(outline(buildTree(cycle, (id) => times[id] ?? 0)), 'b[c[a tail] x]')
  t.equal(outline(buildTree(cycle)), 'c[a[b[x]] tail]')
  t.equal(outline(buildTree([folder('self', { parentId: 'self' })])), 'self')
})

t.test('a tree has each of any bookmarks once, whatever their order, and does not change them', async (t) => {
  const id = fc.constantFrom(...'abcdefgh')
  const parentId = fc.option(fc.constantFrom(...'abcdefgh', 'z'))
  const place = { parentId, url: fc.boolean(), position: fc.option(fc.string()) }
  const bookmark = fc.record({ id, ...place }, { requiredKeys: ['id'] })
  const bookmarks = fc.uniqueArray(bookmark, { selector: (one) => one.id }).map((list) =>
    list.map(({ id, parentId, url, position }) => ({
      ...folder(id),
      ...(parentId && { parentId }),
      ...(url && { url: 'https://example.org/' }),
      ...(typeof position === 'string' && { position }),
    })),
  )
  const orders = bookmarks.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  )
  fc.assert(
    fc.property(orders, fc.array(fc.nat(3), { minLength: 26, maxLength: 26 }), ([list, shuffled], times) => {
      const changedAt = (id: string) => times[id.charCodeAt(0) - 97] ?? 0
      const before = JSON.stringify(list)
      const tree = outline(buildTree(list, changedAt))
      const reached = (tree.match(/\w/g) ?? []).toSorted().join()
      const ids = list.map((one) => one.id).toSorted()
      const isSame = tree === outline(buildTree(shuffled, changedAt)) && JSON.stringify(list) === before
      return isSame && reached === ids.join()
    }),
    { numRuns: depth(500, 3000) },
  )
  t.pass()
})

t.test('a tree of twenty thousand nested folders can be built', async (t) => {
  const deep = Array.from({ length: 20_000 }, (_, index) => folder(`f${index}`, { parentId: `f${index - 1}` }))
  let depth = 0
  for (let nodes = buildTree(deep); nodes.length > 0; nodes = nodes[0]?.children ?? []) depth++
  t.equal(depth, 20_000)
})

t.test('a moved bookmark gets a position, and its siblings get new ones only if necessary', async (t) => {
  const at = (...positions: (string | undefined)[]) =>
    positions.map((position, index) => link(`s${index}`, position === undefined ? {} : { position }))
  const place = (siblings: PlaintextBookmark[], before?: string) => placeBetween(siblings, ['m'], before, 'device')
  t.same([...place([]).keys()], ['m'])
  t.same([...place(at('a0', 'a1'), 's1').keys()], ['m'])
  t.match(place(at('a0', 'a1')), new Map([['m', /^a2/]]))
  t.match(place(at('a0', 'a1'), 'unknown'), new Map([['m', /^a2/]]), 'before an unknown bookmark: last')
  t.same([...place(at('a0', 'a0', 'a1'), 's1').keys()], ['m', 's1'], 'two siblings have the same position')
  t.same([...place(at('a0', undefined, undefined), 's2').keys()], ['s1', 'm'], 'some siblings have no position')
  t.same([...place(at('a0', 'no position!', 'a1'), 's1').keys()], ['m', 's1'], 'a sibling has an invalid position')
})

t.test('a moved bookmark gets its place, and the others keep their order, whatever their positions', async (t) => {
  const key = fc.constantFrom(undefined, 'a0', 'a1', 'a0V', 'Zz', 'zzz', '', 'A', '~', 'b00', 'a10')
  fc.assert(
    fc.property(fc.array(key, { maxLength: 8 }), fc.nat(9), (positions, place) => {
      const list = positions.map((position, index) => link(`s${index}`, position === undefined ? {} : { position }))
      const siblings = buildTree(list).map(({ bookmark }) => bookmark)
      const before = siblings[place]?.id
      const placed = placeBetween(siblings, ['m'], before, 'device')
      const after = [...siblings, link('m')].map((one) => ({ ...one, position: placed.get(one.id) ?? one.position }))
      const ids = siblings.map(({ id }) => id)
      const expected = ids.toSpliced(before === undefined ? ids.length : place, 0, 'm')
      const order = buildTree(after as PlaintextBookmark[]).map(({ bookmark }) => bookmark.id)
      for (const position of placed.values()) generateKeyBetween(position, null)
      return order.join() === expected.join()
    }),
    { numRuns: depth(500, 3000) },
  )
  t.pass()
})
