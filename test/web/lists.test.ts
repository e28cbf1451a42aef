/** How many bookmarks the page's lists read when one of many has changed. Counts do not depend on the machine. */
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
let reads = 0

t.test('a sorted list re-sorts only changed bookmarks, and is the same array if the order is unchanged', async (t) => {
  for (const order of orders) {
    const bookmarks = new Map(Array.from({ length: count }, (_, index) => [`b${index}`, bookmark(index)]))
    const sync = { get: (id: string) => bookmarks.get(id) }
    const sort = sorter(() => [...bookmarks.keys()], order)
    const first = sort(sync)
    reads = 0
    bookmarks.set('b7', bookmark(7))
    t.equal(sort(sync), first, `by ${order}: the order is unchanged`)
    bookmarks.set('b7', bookmark(7, 'zzz'))
    bookmarks.delete('b8')
    bookmarks.set('b-1', bookmark(-1, 'aaa'))
    const now = sort(sync)
    t.ok(reads < 100, `by ${order}: ${reads} reads of titles`)
    t.same(now, sorter(() => [...bookmarks.keys()], order)(sync), `by ${order}: as if sorted again`)
  }
})

t.test('a list of all bookmarks reads only folders in which something has changed', async (t) => {
  const links = Array.from({ length: count }, (_, index) => ({ ...bookmark(index), parentId: `f${index % 40}` }))
  const folders = Array.from({ length: 40 }, (_, index) => ({ ...folder, id: `f${index}` }))
  const top = buildTree([...folders, ...links]).map(counting)
  const before = allLinks({ tree: () => top })
  const [first, ...others] = top as [TreeNode, ...TreeNode[]]
  reads = 0
  const changed = { bookmark: first.bookmark, children: first.children.slice(1) }
  const after = allLinks({ tree: () => [changed, ...others] })
  t.same([after.length, before.length], [count - 1, count])
  t.ok(reads < 120, `${reads} reads of bookmarks`)
})

t.test('folders deeper than any call stack are counted and listed once each', async (t) => {
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

/** A bookmark that counts each read of its title. */
function bookmark(index: number, name?: string) {
  const title = name ?? `${(index * 7919) % count}`
  return {
    id: `b${index}`,
    source: 'bookmarks' as const,
    url: `https://${name ?? index % 30}.example/`,
    dateAdded: name ?? new Date(1e12 + ((index * 104_729) % count) * 1e6).toISOString(),
    get title() {
      reads++
      return title
    },
  }
}

/** A tree node that counts each read of its bookmark. */
function counting({ bookmark, children }: TreeNode): TreeNode {
  const counted = children.map(counting)
  return {
    children: counted,
    get bookmark() {
      reads++
      return bookmark
    },
  }
}

t.test('addresses of the same page are equal, and a very long one is compared quickly', async (t) => {
  for (const url of ['https://www.example.org/a', 'http://example.org/a/', 'HTTPS://WWW.example.org/a/?#']) {
    t.equal(bareAddress(url), 'example.org/a')
  }
  for (const url of ['', 'https://www.', '/#?', undefined]) t.equal(bareAddress(url), undefined)
  // A regular expression such as /[/?#]+$/ takes minutes for this address.
  const long = `example.org/${'#'.repeat(1_000_000)}x`
  t.equal(bareAddress(long), long)
})
