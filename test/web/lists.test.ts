/** The bookmarks at which the page's lists look when one of many has changed: counted, so that the machine does not matter. */
import t from 'tap'
import { bareAddress } from '../../src/client/bookmark/address.ts'
import { buildTree } from '../../src/client/bookmark/build-tree.ts'
import type { TreeNode } from '../../src/client/bookmark/tree.ts'
import { allLinks } from '../../src/web/library/links.ts'
import { countAllIn, countLinksIn } from '../../src/web/library/paths.ts'
import { type Order, sorter } from '../../src/web/library/sorter.ts'

const count = 1000
const orders: Order[] = ['own', 'title', 'host', 'newest', 'oldest']
const folder = { id: 'folder', title: '', source: 'bookmarks' as const }
let looked = 0

t.test('a sorted list sorts only what has changed, and is the same array if nothing has another place', async (t) => {
  for (const order of orders) {
    const bookmarks = new Map(Array.from({ length: count }, (_, index) => [`b${index}`, bookmark(index)]))
    const sync = { get: (id: string) => bookmarks.get(id) }
    const sort = sorter(() => [...bookmarks.keys()], order)
    const first = sort(sync)
    looked = 0
    bookmarks.set('b7', bookmark(7))
    t.equal(sort(sync), first, `by ${order}: nothing has another place`)
    bookmarks.set('b7', bookmark(7, 'zzz'))
    bookmarks.delete('b8')
    bookmarks.set('b-1', bookmark(-1, 'aaa'))
    const now = sort(sync)
    t.ok(looked < 100, `by ${order}: ${looked} looks at titles`)
    t.same(now, sorter(() => [...bookmarks.keys()], order)(sync), `by ${order}: as if sorted again`)
  }
})

t.test('a list of all bookmarks looks only into folders in which something has changed', async (t) => {
  const links = Array.from({ length: count }, (_, index) => ({ ...bookmark(index), parentId: `f${index % 40}` }))
  const folders = Array.from({ length: 40 }, (_, index) => ({ ...folder, id: `f${index}` }))
  const top = buildTree([...folders, ...links]).map(counting)
  const before = allLinks({ tree: () => top })
  const [first, ...others] = top as [TreeNode, ...TreeNode[]]
  looked = 0
  const changed = { bookmark: first.bookmark, children: first.children.slice(1) }
  const after = allLinks({ tree: () => [changed, ...others] })
  t.same([after.length, before.length], [count - 1, count])
  t.ok(looked < 120, `${looked} looks at bookmarks`)
})

t.test('folders deeper than any call stack are counted and listed, each once', async (t) => {
  const depth = 20_000
  let node: TreeNode = { bookmark: folder, children: [] }
  for (let level = 0; level < depth; level++) {
    const link = { bookmark: bookmark(level), children: [] }
    node = { bookmark: node.bookmark, children: [node, link] }
  }
  t.same([countLinksIn(node), countAllIn(node)], [depth, 2 * depth])
  t.equal(countLinksIn({ bookmark: node.bookmark, children: [node, node] }), 2 * depth)
  const ids = Array.from({ length: depth }, (_, level) => `b${level}`)
  t.same(allLinks({ tree: () => [node] }), ids)
})

/** Each look at its title is counted. */
function bookmark(index: number, name?: string) {
  const title = name ?? `${(index * 7919) % count}`
  return {
    id: `b${index}`,
    source: 'bookmarks' as const,
    url: `https://${name ?? index % 30}.example/`,
    dateAdded: name ?? new Date(1e12 + ((index * 104_729) % count) * 1e6).toISOString(),
    get title() {
      looked++
      return title
    },
  }
}

/** Each look at a bookmark is counted. */
function counting({ bookmark, children }: TreeNode): TreeNode {
  const counted = children.map(counting)
  return {
    children: counted,
    get bookmark() {
      looked++
      return bookmark
    },
  }
}

t.test('addresses that lead to the same page are the same, and a long one is looked at once', async (t) => {
  for (const url of ['https://www.example.org/a', 'http://example.org/a/', 'HTTPS://WWW.example.org/a/?#']) {
    t.equal(bareAddress(url), 'example.org/a')
  }
  for (const url of ['', 'https://www.', '/#?', undefined]) t.equal(bareAddress(url), undefined)
  // With /[/?#]+$/ this took minutes.
  const long = `example.org/${'#'.repeat(1_000_000)}x`
  t.equal(bareAddress(long), long)
})
