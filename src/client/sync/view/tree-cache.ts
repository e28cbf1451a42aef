import { findParents, inOrder, isFolder, type Parents, parentOf, type TreeNode } from '../../bookmark/tree.ts'
import type { EntityType } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import { rowKey } from '../store/key.ts'
import type { Replica } from '../store/replica.ts'
import { viewOf } from '../store/row.ts'

/** The tree of folders, updated with each change of the replica. Folders in which nothing has changed remain the same objects. */
export class TreeCache {
  readonly type: EntityType
  #top: TreeNode[] = []
  #nodes = new Map<string, TreeNode>()
  #parents: Parents = new Map()

  constructor(type: EntityType) {
    this.type = type
  }

  /** The tree after the last complete change. */
  read(): TreeNode[] {
    return this.#top
  }

  /** The folder's contents in order; without an id, those of the top level. */
  contents(folderId: string | undefined): readonly TreeNode[] {
    return folderId === undefined ? this.#top : (this.#nodes.get(folderId)?.children ?? [])
  }

  /**
   * Updates the tree for bookmarks whose place or content may have changed. The time depends on their number and their
   * folders (on all folders if one changes). Does not block the page; `read` returns the previous tree until all is done.
   */
  async update(
    { lives, rows }: Pick<Replica, 'lives' | 'rows'>,
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const live = lives[this.type]
    const update = new TreeUpdate({ top: this.#top, nodes: this.#nodes, parents: this.#parents })
    await paced(ids, (id) => update.take(id, live.get(id)), signal)
    update.findParents((id) => viewOf(rows.get(rowKey(id, this.type))).timestamp)
    await paced(update.changed.keys(), (id) => update.move(id), signal)
    update.renewFolders()
    if (update.changed.size === 0) return
    await paced(update.changed.values(), (node) => update.fill(node), signal)
    this.#top = update.contents(undefined, this.#top)
    for (const [id, node] of update.changed) {
      if (node) this.#nodes.set(id, node)
      else this.#nodes.delete(id)
    }
    this.#parents = update.parents
  }

  /** Clears the bookmarks from memory. */
  forget(): void {
    this.#top = []
    this.#nodes.clear()
    this.#parents.clear()
  }
}

interface Tree {
  readonly top: readonly TreeNode[]
  readonly nodes: ReadonlyMap<string, TreeNode>
  readonly parents: Parents
}

/** The key `undefined` stands for the top level. */
type IdsByFolder = Map<string | undefined, Set<string>>

/** The difference from the previous tree, which is not modified. Its methods must be called in the order of declaration. */
class TreeUpdate {
  /** New nodes by id; undefined for nodes that are gone. */
  readonly changed = new Map<string, TreeNode | undefined>()
  parents: Parents
  readonly #before: Tree
  readonly #wasThere = (id: string) => this.#before.nodes.get(id)
  readonly #isThere = (id: string) => (this.changed.has(id) ? this.changed.get(id) : this.#before.nodes.get(id))
  /** The ids of changed bookmarks that are folders, or were before. */
  readonly #folders = new Set<string>()
  readonly #leaving: IdsByFolder = new Map()
  readonly #coming: IdsByFolder = new Map()

  constructor(before: Tree) {
    this.#before = before
    this.parents = before.parents
  }

  take(id: string, bookmark: TreeNode['bookmark'] | undefined): void {
    const before = this.#wasThere(id)
    const node = bookmark && { bookmark, children: [] }
    if (isFolder(before) || isFolder(node)) this.#folders.add(id)
    if (before?.bookmark !== bookmark) this.changed.set(id, node)
  }

  /** A folder that is added, deleted or moved changes others' parents, and its timestamp may decide where a cycle is cut. */
  findParents(changedAt: (id: string) => number): void {
    if (this.#folders.size === 0) return
    const { top, nodes, parents: before } = this.#before
    const ids = new Set([...before.keys(), ...this.#folders])
    const folders = [...ids].flatMap((id) => this.#isThere(id) ?? []).filter(isFolder)
    this.parents = findParents(folders, this.#isThere, changedAt)
    for (const [id, parent] of this.parents) {
      if (!this.changed.has(id) && parent !== before.get(id)) this.move(id)
    }
    const moveBookmark = (node: TreeNode) => {
      if (!isFolder(node) && !this.changed.has(node.bookmark.id)) this.move(node.bookmark.id)
    }
    const added = new Set([...this.#folders].filter((id) => this.parents.has(id) && !before.has(id)))
    for (const node of added.size > 0 ? top : []) if (added.has(node.bookmark.parentId ?? '')) moveBookmark(node)
    for (const id of this.#folders) if (!this.parents.has(id)) nodes.get(id)?.children.forEach(moveBookmark)
  }

  /** Notes that a bookmark leaves its previous place and comes to its new one, which may be the same. */
  move(id: string): void {
    const [before, now] = [this.#wasThere(id), this.#isThere(id)]
    if (before) idsOf(this.#leaving, parentOf(before, this.#before.parents, this.#wasThere)).add(id)
    if (now) idsOf(this.#coming, parentOf(now, this.parents, this.#isThere)).add(id)
  }

  /** Notes copies of the folders whose contents change, and of those around them, so that none is changed in place. */
  renewFolders(): void {
    const renewed = new Set<string>()
    for (const folder of [...this.#leaving.keys(), ...this.#coming.keys()]) {
      for (let id = folder; id !== undefined && !renewed.has(id); id = this.parents.get(id)) {
        renewed.add(id)
        const node = this.#isThere(id)
        if (!node || this.changed.has(id)) continue
        this.changed.set(id, { bookmark: node.bookmark, children: [] })
        this.move(id)
      }
    }
  }

  fill(node: TreeNode | undefined): void {
    if (!node || !isFolder(node)) return
    const before = this.#wasThere(node.bookmark.id)
    node.children = this.contents(node.bookmark.id, before?.children ?? [])
  }

  /** The folder's new contents, in order. Most of the previous ones are copied without being compared. */
  contents(folder: string | undefined, before: readonly TreeNode[]): TreeNode[] {
    const placeBefore = (id: string) => placeOf(before, this.#wasThere(id) as TreeNode)
    const leaving = new Set([...idsOf(this.#leaving, folder)].map(placeBefore))
    const coming = [...idsOf(this.#coming, folder)].map((id) => this.#isThere(id) as TreeNode)
    const now: TreeNode[] = []
    let next = 0
    const copyTo = (end: number) => {
      for (; next < end; next++) if (!leaving.has(next)) now.push(before[next] as TreeNode)
    }
    for (const node of coming.sort(inOrder)) {
      copyTo(placeOf(before, node))
      now.push(node)
    }
    copyTo(before.length)
    return now
  }
}

function idsOf(ids: IdsByFolder, folder: string | undefined): Set<string> {
  const found = ids.get(folder) ?? new Set()
  ids.set(folder, found)
  return found
}

/** The index of the node, or the one at which it belongs. */
function placeOf(nodes: readonly TreeNode[], node: TreeNode): number {
  let [start, end] = [0, nodes.length]
  while (start < end) {
    const middle = (start + end) >> 1
    if (inOrder(nodes[middle] as TreeNode, node) < 0) start = middle + 1
    else end = middle
  }
  return start
}
