/** Bookmarks in the account that Chrome's user is signed in to. Chrome keeps them next to those of the device. */
import t, { type Test } from 'tap'
import type { BrowserNode, NewNode } from '../../src/extension/browser-api.ts'
import { addToChrome } from './chrome.ts'

const link = (title: string) => ({ id: '', title, url: `https://example.org/${title}` })
let lastId = 0
const folder = (title: string, ...children: BrowserNode[]) => ({ id: `${++lastId}`, title, children })

function root(id: string, folderType: string, syncing: boolean, ...children: BrowserNode[]): BrowserNode {
  return { id, title: id, folderType, syncing, children }
}

let top: BrowserNode = { id: '0', title: '' }
let reads = 0
const bookmarks = {
  async getChildren(id: string) {
    if (id !== top.id) throw new Error(`No folder ${id}`)
    return structuredClone(top.children ?? [])
  },
  async getTree() {
    reads++
    return structuredClone([top])
  },
  async create({ parentId, ...node }: NewNode) {
    const made = { id: `new ${++lastId}`, ...node, ...(node.url === undefined && { children: [] }) }
    const pending = [top]
    for (const { id, children = [] } of pending) {
      if (id === parentId) children.push(made)
      pending.push(...children)
    }
    return structuredClone(made)
  },
}
addToChrome({ bookmarks })
const { copyFromAccount, findInAccount } = await import('../../src/extension/app/account-folders.ts')

function given(t: Test, ...children: BrowserNode[]): void {
  top = { id: '0', title: '', children }
  t.teardown(() => {
    top = { id: '0', title: '' }
  })
}

const titlesIn = ({ title, url, children = [] }: BrowserNode): unknown =>
  url === undefined ? [title, ...children.map(titlesIn)] : title

const known = new Map()

t.test('Bookmarks that only the account has are named, and copied once', async (t) => {
  const own = root('bar', 'bookmarks-bar', false, link('a'), folder('News', link('n1')))
  const other = root('other', 'other', false)
  given(
    t,
    ...[own, other],
    root('account bar', 'bookmarks-bar', true, link('a'), link('a'), link('b'), folder('News', link('n1'), link('n2'))),
    root('account other', 'other', true, folder('Deep', folder('Deeper', link('d')))),
  )
  t.same(await findInAccount(known), ['a', 'b', 'n2', 'd'])
  await Promise.all([copyFromAccount(known), copyFromAccount(known)])
  t.same(titlesIn(own), ['bar', 'a', ['News', 'n1', 'n2'], 'a', 'b'])
  t.same(titlesIn(other), ['other', ['Deep', ['Deeper', 'd']]])
  t.same(await findInAccount(known), [])
  top.children?.[2]?.children?.push(link('later'))
  t.same(await findInAccount(known), ['later'], 'also what Chrome puts there afterwards')
})

t.test('If a browser has each folder only once, no bookmark is named, and the tree is not read', async (t) => {
  given(t, root('1', 'bookmarks-bar', true, link('a')), root('2', 'other', true, link('b')))
  reads = 0
  const kept = new Map([
    ['toolbar', '1'],
    ['other', '2'],
  ] as const)
  t.same(await findInAccount(kept), [], 'Chrome, which syncs all of them')
  const firefox = ['toolbar_____', 'unfiled_____'].map((id) => ({ id, title: id, children: [link(id)] }))
  top = { id: 'root________', title: '', children: firefox }
  t.same(await findInAccount(known), [], 'Firefox')
  t.equal(reads, 0)
})
