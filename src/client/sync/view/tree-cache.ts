import type { PlaintextBookmark } from '../../bookmark.ts'
import { kindOf } from '../../bookmark-file/tree.ts'
import { inOrder, sortIntoFolders, type TreeNode } from '../../tree.ts'
import type { Replica } from '../store/replica.ts'
import { viewOf } from '../store/row.ts'

/** With more changes than this, building the tree anew is faster. */
const mostPatches = 100

/** The tree, brought up to date when it is read. Folders in which nothing has changed remain the same objects. */
export class TreeCache {
  readonly #replica: Replica
  #top: TreeNode[] = []
  #nodes = new Map<string, TreeNode>()
  /** The folder around a folder; none at the top level. */
  #parents = new Map<string, string>()

  constructor(replica: Replica) {
    this.#replica = replica
  }

  read(): TreeNode[] {
    const { touched } = this.#replica
    if (touched.size > 0) {
      if (touched.size > mostPatches || [...touched].some((id) => this.#concernsFolder(id))) this.#build()
      else this.#patch(touched)
      touched.clear()
    }
    return this.#top
  }

  /** What is in the folder, in order; without an id, at the top level. */
  contents(folderId: string | undefined): readonly TreeNode[] {
    const top = this.read()
    return folderId === undefined ? top : (this.#nodes.get(folderId)?.children ?? [])
  }

  /** Clears the bookmarks from memory. */
  forget(): void {
    this.#top = []
    this.#nodes.clear()
    this.#parents.clear()
  }

  /** A folder that comes, goes or moves changes where others are. */
  #concernsFolder(id: string): boolean {
    const found = [this.#nodes.get(id)?.bookmark, this.#replica.live.get(id)]
    return found.some((bookmark) => bookmark && kindOf(bookmark) === 'folder')
  }

  #build(): void {
    const { live, rows } = this.#replica
    const { top, nodes, parents } = sortIntoFolders(live.values(), (id) => viewOf(rows.get(id)).timestamp)
    this.#parents = new Map()
    for (const [{ bookmark }, parent] of parents) if (parent) this.#parents.set(bookmark.id, parent.bookmark.id)
    const before = this.#nodes
    this.#nodes = nodes
    this.#top = before.size > 0 ? this.#reuse(before, top) : top
  }

  /** Puts the nodes from before in place of the same new ones; returns the top level. */
  #reuse(before: Map<string, TreeNode>, built: TreeNode[]): TreeNode[] {
    const all = [...built]
    for (const { children } of all) for (const child of children) all.push(child)
    // From the bottom up: a node is the same as before if all of its children are.
    for (const node of all.reverse()) {
      const { id } = node.bookmark
      this.#nodes.set(id, reuse(before.get(id), node, this.#nodesOf(node.children)))
    }
    return reuseList(this.#top, this.#nodesOf(built))
  }

  #nodesOf(children: readonly TreeNode[]): TreeNode[] {
    return children.map(({ bookmark }) => this.#nodes.get(bookmark.id) as TreeNode)
  }

  /** Takes out bookmarks that are no folders and puts them where they are now, in copies of the folders around them. */
  #patch(ids: Iterable<string>): void {
    const copied = new Set<string | undefined>()
    for (const id of ids) {
      const node = this.#nodes.get(id)
      const bookmark = this.#replica.live.get(id)
      if (node?.bookmark === bookmark) continue
      if (node) {
        const siblings = this.#copy(this.#folderAround(node.bookmark), copied)
        siblings.splice(siblings.indexOf(node), 1)
        this.#nodes.delete(id)
      }
      if (bookmark) this.#add(bookmark, copied)
    }
  }

  #add(bookmark: PlaintextBookmark, copied: Set<string | undefined>): void {
    const node = { bookmark, children: [] }
    const siblings = this.#copy(this.#folderAround(bookmark), copied)
    const after = siblings.findIndex((sibling) => inOrder(node, sibling) < 0)
    siblings.splice(after === -1 ? siblings.length : after, 0, node)
    this.#nodes.set(bookmark.id, node)
  }

  /** The id of the folder that a bookmark is in which is no folder itself. */
  #folderAround({ parentId = '' }: Readonly<PlaintextBookmark>): string | undefined {
    const parent = this.#nodes.get(parentId)
    return parent && kindOf(parent.bookmark) === 'folder' ? parentId : undefined
  }

  /** The folder's children, to change: once copied, with all folders above it, they are this round's own. */
  #copy(folderId: string | undefined, copied: Set<string | undefined>): TreeNode[] {
    const before = folderId === undefined ? undefined : this.#nodes.get(folderId)
    if (folderId === undefined || !before) {
      if (!copied.has(undefined)) this.#top = [...this.#top]
      copied.add(undefined)
      return this.#top
    }
    if (copied.has(folderId)) return before.children
    const siblings = this.#copy(this.#parents.get(folderId), copied)
    const node = { bookmark: before.bookmark, children: [...before.children] }
    siblings[siblings.indexOf(before)] = node
    this.#nodes.set(folderId, node)
    copied.add(folderId)
    return node.children
  }
}

function reuse(before: TreeNode | undefined, node: TreeNode, children: TreeNode[]): TreeNode {
  if (!before) return Object.assign(node, { children })
  const list = reuseList(before.children, children)
  if (before.bookmark === node.bookmark && before.children === list) return before
  return Object.assign(node, { children: list })
}

function reuseList(before: TreeNode[], after: TreeNode[]): TreeNode[] {
  return before.length === after.length && before.every((node, index) => node === after[index]) ? before : after
}
