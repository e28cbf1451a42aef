import type { PlaintextBookmark } from '../bookmark.ts'
import { findParents, inOrder, isFolder, parentOf, type TreeNode } from './tree.ts'

/**
 * Sorts bookmarks into their folders and returns the top level. Every bookmark is in exactly one place, which is the same
 * on every device. The bookmarks themselves are not changed.
 *
 * - If a bookmark's parent is missing, deleted or not a folder (it has a `url` or is a separator), the bookmark is at the
 *   top level.
 * - If folders contain each other, the one that was changed last is at the top level (if equal, the one with the greatest id).
 * - Siblings are ordered by `position`, those without one last, then by `dateAdded`, then by `id`.
 *
 * @param bookmarks without deleted ones, in any order; no id twice
 * @param changedAt when a bookmark was last changed (Unix ms), the same on every device; `Sync.tree` uses the versions'
 *   timestamps
 */
export function buildTree(
  bookmarks: Iterable<Readonly<PlaintextBookmark>>,
  changedAt: (id: string) => number = () => 0,
): TreeNode[] {
  const nodes = new Map<string, TreeNode>()
  for (const bookmark of bookmarks) nodes.set(bookmark.id, { bookmark, children: [] })
  const find = (id: string) => nodes.get(id)
  const folders = [...nodes.values()].filter(isFolder)
  const parents = findParents(folders, find, changedAt)
  const top: TreeNode[] = []
  for (const node of nodes.values()) {
    const parent = parentOf(node, parents, find)
    const siblings = parent === undefined ? top : nodes.get(parent)?.children
    siblings?.push(node)
  }
  top.sort(inOrder)
  for (const { children } of folders) children.sort(inOrder)
  return top
}
