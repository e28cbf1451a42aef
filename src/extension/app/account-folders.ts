/**
 * Chrome 134 and later may show folders of the account that its user is signed in to, in addition to those of the
 * device. The extension leaves them out, because Chrome syncs them, and offers to copy them.
 */
import type { BrowserNode } from '../index.ts'
import { accountFolders, kindOfNode, likenessOf, type Roots } from '../trees.ts'
import { platform } from './platform.ts'

type Create = (node: { parentId: string; title: string; url?: string }) => Promise<BrowserNode>

let copying: Promise<void> | undefined

/**
 * Returns the titles, or else addresses, of the account's bookmarks that are not in the same folder of this device.
 *
 * @param roots the folders that are kept in step
 */
export async function findInAccount(roots: Roots): Promise<string[]> {
  // Reads the whole tree, which may be large, only if there is such a folder. Only Chrome has a folder with this id.
  const top = await platform.bookmarks.getChildren('0').catch(() => [])
  const ids = [...roots.values()]
  if (!top.some(({ id, syncing }) => syncing && !ids.includes(id))) return []
  const titles: string[] = []
  await copyMissing(roots, async (node) => {
    if (node.url !== undefined) titles.push(node.title || node.url)
    return { id: '', ...node }
  })
  return titles
}

/** Copies the account's missing bookmarks into this device's folders. A second click meanwhile copies nothing twice. */
export function copyFromAccount(roots: Roots): Promise<void> {
  copying ??= copyMissing(roots, (node) => platform.bookmarks.create(node)).finally(() => {
    copying = undefined
  })
  return copying
}

async function copyMissing(roots: Roots, create: Create): Promise<void> {
  const [top] = await platform.bookmarks.getTree()
  for (const { inAccount, own } of top ? accountFolders(top, roots) : []) await copyInto(inAccount, own, create)
}

async function copyInto({ children = [] }: BrowserNode, own: BrowserNode, create: Create): Promise<void> {
  const likenessOfNode = (node: BrowserNode) => likenessOf({ ...node, kind: kindOfNode(node) })
  const there = Map.groupBy(own.children ?? [], likenessOfNode)
  for (const node of children) {
    const { title, url } = node
    const same = there.get(likenessOfNode(node))?.shift()
    const copy = same ?? (await create({ parentId: own.id, title, ...(url !== undefined && { url }) }))
    await copyInto(node, copy, create)
  }
}
