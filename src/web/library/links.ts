import type { SyncReader, TreeNode } from '../../client/index.ts'

/** A folder in which nothing has changed is the same object, and so is not looked through again. */
const known = new WeakMap<TreeNode, readonly string[]>()

/** The ids of all bookmarks that are neither folders nor separators, in the order of the tree. */
export function allLinks(sync: Pick<SyncReader, 'tree'>): string[] {
  return linksAmong(sync.tree())
}

function linksAmong(nodes: readonly TreeNode[]): string[] {
  const ids: string[] = []
  for (const node of nodes) {
    if (node.bookmark.url !== undefined) ids.push(node.bookmark.id)
    if (node.children.length > 0) for (const id of linksIn(node)) ids.push(id)
  }
  return ids
}

function linksIn(folder: TreeNode): readonly string[] {
  const ids = known.get(folder) ?? linksAmong(folder.children)
  known.set(folder, ids)
  return ids
}
