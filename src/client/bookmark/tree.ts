import type { PlaintextBookmark } from '../bookmark.ts'

/** A bookmark with its children. */
export interface TreeNode {
  bookmark: Readonly<PlaintextBookmark>
  /** The children in order; empty if the bookmark is not a folder. */
  children: TreeNode[]
}

/** A bookmark that has no `url` and is not a separator is a folder. */
export function kindOf({ url, type }: PlaintextBookmark): 'link' | 'folder' | 'separator' {
  if (typeof url === 'string') return 'link'
  return type === 'separator' ? 'separator' : 'folder'
}

export function isFolder(node: TreeNode | undefined): boolean {
  return node !== undefined && kindOf(node.bookmark) === 'folder'
}

/** Each folder's parent by id; undefined at the top level. Only folders, because nothing else can form cycles. */
export type Parents = Map<string, string | undefined>

type Find = (id: string) => TreeNode | undefined

export function findParents(folders: Iterable<TreeNode>, find: Find, changedAt: (id: string) => number): Parents {
  const parents: Parents = new Map()
  for (const folder of folders) parents.set(folder.bookmark.id, namedParent(folder, find))
  cutCycles(parents, changedAt)
  return parents
}

/** The id of the folder that contains the node; undefined at the top level. */
export function parentOf(node: TreeNode, parents: Parents, find: Find): string | undefined {
  return isFolder(node) ? parents.get(node.bookmark.id) : namedParent(node, find)
}

function namedParent({ bookmark: { parentId = '' } }: TreeNode, find: Find): string | undefined {
  return isFolder(find(parentId)) ? parentId : undefined
}

function cutCycles(parents: Parents, changedAt: (id: string) => number): void {
  const newest = (one: string, other: string) => changedAt(one) - changedAt(other) || compare(one, other)
  const seen = new Set<string>()
  for (const start of parents.keys()) {
    const path: string[] = []
    let at: string | undefined = start
    for (; at !== undefined && !seen.has(at); at = parents.get(at)) {
      seen.add(at)
      path.push(at)
    }
    // The path ends at the top level, on a path that was followed before, or on itself: only then is it a cycle.
    if (at === undefined || !path.includes(at)) continue
    const cycle = path.slice(path.indexOf(at))
    const last = cycle.reduce((best, id) => (newest(id, best) > 0 ? id : best))
    parents.set(last, undefined)
  }
}

/** Compares siblings by position, then by `dateAdded`, then by id. */
export function inOrder({ bookmark: one }: TreeNode, { bookmark: other }: TreeNode): number {
  return (
    compareLast(one.position, other.position) ||
    compareLast(one.dateAdded, other.dateAdded) ||
    compare(one.id, other.id)
  )
}

/** Compares with missing values last. Other clients may write anything, so only strings count as values. */
export function compareLast(one: unknown, other: unknown): number {
  if (typeof one === 'string' && typeof other === 'string') return compare(one, other)
  return Number(typeof one !== 'string') - Number(typeof other !== 'string')
}

export function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
