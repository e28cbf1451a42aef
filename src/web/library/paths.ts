import type { SyncReader, TreeNode } from '../../client/index.ts'
import { say } from '../words/words.ts'
import { type Bookmark, isFolder } from './kind.ts'

/** The most folders around a bookmark that are read: people rarely nest deeper, and other clients may write cycles. */
const maxDepth = 50

/** The folders around a bookmark, the outermost first. */
export function foldersAround(sync: Pick<SyncReader, 'get'>, bookmark: Bookmark | undefined): Bookmark[] {
  const path: Bookmark[] = []
  let at = bookmark && sync.get(bookmark.parentId ?? '')
  while (at && isFolder(at) && path.length < maxDepth) {
    path.unshift(at)
    at = sync.get(at.parentId ?? '')
  }
  return path
}

export function pathText(sync: Pick<SyncReader, 'get'>, bookmark: Bookmark): string {
  return foldersAround(sync, bookmark)
    .map(({ title }) => title || say.ui.untitled)
    .join(' › ')
}

/** An unchanged folder stays the same object, so its count is cached. */
const known = new WeakMap<TreeNode, number>()

/** The number of bookmarks in a folder, at any depth, without folders and separators. */
export function countLinksIn(folder: TreeNode): number {
  // A stack, because recursion would overflow on deeply nested folders.
  const unknown = known.has(folder) ? [] : [folder]
  for (const { children } of unknown) {
    for (const child of children) if (child.bookmark.url === undefined && !known.has(child)) unknown.push(child)
  }
  for (const node of unknown.toReversed()) {
    known.set(
      node,
      node.children.reduce((sum, child) => sum + (child.bookmark.url === undefined ? (known.get(child) ?? 0) : 1), 0),
    )
  }
  return known.get(folder) ?? 0
}

/** The number of all entries in a folder, at any depth. */
export function countAllIn(folder: TreeNode): number {
  const nodes = [folder]
  for (const { children } of nodes) for (const child of children) nodes.push(child)
  return nodes.length - 1
}
