import { findParents, inOrder, isFolder, type Parents, parentOf, type TreeNode } from '../../tree.ts'

interface Tree {
  readonly top: readonly TreeNode[]
  readonly nodes: ReadonlyMap<string, TreeNode>
  readonly parents: Parents
}

/** The key `undefined` stands for the top level. */
type IdsByFolder = Map<string | undefined, Set<string>>

/** What differs from the tree before, which stays as it is. The steps follow one another as the methods do here. */
export class TreeUpdate {
  /** New nodes by id; undefined for what is gone. */
  readonly changed = new Map<string, TreeNode | undefined>()
  parents: Parents
  readonly #before: Tree
  readonly #wasThere = (id: string) => this.#before.nodes.get(id)
  readonly #isThere = (id: string) => (this.changed.has(id) ? this.changed.get(id) : this.#before.nodes.get(id))
  /** Folders that were or are among the bookmarks taken. */
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

  /** A folder that comes, goes or moves changes where others are, and a version of it may decide which cycle is cut where. */
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
    const came = new Set([...this.#folders].filter((id) => this.parents.has(id) && !before.has(id)))
    for (const node of came.size > 0 ? top : []) if (came.has(node.bookmark.parentId ?? '')) moveBookmark(node)
    for (const id of this.#folders) if (!this.parents.has(id)) nodes.get(id)?.children.forEach(moveBookmark)
  }

  /** From its place before to its place now, which may be the same. */
  move(id: string): void {
    const [before, now] = [this.#wasThere(id), this.#isThere(id)]
    if (before) idsOf(this.#leaving, parentOf(before, this.#before.parents, this.#wasThere)).add(id)
    if (now) idsOf(this.#coming, parentOf(now, this.parents, this.#isThere)).add(id)
  }

  /** Copies of the folders whose contents change, and of those around them. */
  renewFolders(): void {
    const renewed = new Set<string>()
    for (const folder of [...this.#leaving.keys(), ...this.#coming.keys()]) {
      for (let id = folder; id !== undefined && !renewed.has(id); id = this.parents.get(id)) {
        renewed.add(id)
        const node = this.#isThere(id)
        if (node && !this.changed.has(id)) this.changed.set(id, { bookmark: node.bookmark, children: [] })
      }
    }
  }

  fill(node: TreeNode | undefined): void {
    if (!node || !isFolder(node)) return
    const before = this.#wasThere(node.bookmark.id)
    node.children = this.contents(node.bookmark.id, before?.children ?? [])
  }

  /** What is in the folder now, in order. */
  contents(folder: string | undefined, before: readonly TreeNode[]): TreeNode[] {
    const leaving = this.#leaving.get(folder)
    const staying = leaving ? before.filter(({ bookmark }) => !leaving.has(bookmark.id)) : before
    const stayed = staying.map((node) => this.changed.get(node.bookmark.id) ?? node)
    const coming = [...(this.#coming.get(folder) ?? [])].map((id) => this.#isThere(id) as TreeNode)
    return merge(stayed, coming.sort(inOrder))
  }
}

function idsOf(ids: IdsByFolder, folder: string | undefined): Set<string> {
  const found = ids.get(folder) ?? new Set()
  ids.set(folder, found)
  return found
}

/** Both in order. */
function merge(ones: readonly TreeNode[], others: readonly TreeNode[]): TreeNode[] {
  const merged: TreeNode[] = []
  let next = 0
  for (const other of others) {
    for (let one = ones[next]; one && inOrder(one, other) < 0; one = ones[++next]) merged.push(one)
    merged.push(other)
  }
  return merged.concat(ones.slice(next))
}
