import type { Parents, TreeNode } from '../../bookmark/tree.ts'
import { paced } from '../../timing/paced.ts'
import type { Replica } from '../store/replica.ts'
import { viewOf } from '../store/row.ts'
import { TreeUpdate } from './tree-update.ts'

/** The tree, brought up to date with each change of the replica. Folders in which nothing has changed remain the same objects. */
export class TreeCache {
  #top: TreeNode[] = []
  #nodes = new Map<string, TreeNode>()
  #parents: Parents = new Map()

  /** The tree after the last complete change. */
  read(): TreeNode[] {
    return this.#top
  }

  /** What is in the folder, in order; without an id, at the top level. */
  contents(folderId: string | undefined): readonly TreeNode[] {
    return folderId === undefined ? this.#top : (this.#nodes.get(folderId)?.children ?? [])
  }

  /**
   * Takes over bookmarks that may have another place or content, in a time that depends on their number and on the folders
   * that contain them. Lets the page respond, and shows nothing of it until all is done.
   */
  async update({ live, rows }: Replica, ids: readonly string[], signal: AbortSignal): Promise<void> {
    const update = new TreeUpdate({ top: this.#top, nodes: this.#nodes, parents: this.#parents })
    await paced(ids, (id) => update.take(id, live.get(id)), signal)
    update.findParents((id) => viewOf(rows.get(id)).timestamp)
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
