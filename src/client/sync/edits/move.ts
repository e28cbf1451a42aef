import type { PlaintextBookmark } from '../../bookmark.ts'
import { buildTree, placeBetween, type TreeNode } from '../../tree.ts'
import type { Replica } from '../store/replica.ts'
import { viewOf } from '../store/row.ts'
import { type EditParts, putBookmarks } from './queue.ts'

/** Where to move a bookmark. */
export interface Place {
  /** The folder's id. Default: the top level. */
  parentId?: string | undefined
  /** The id of the bookmark in that folder to put it before. Default: it goes last. */
  before?: string | undefined
}

export function readTree(replica: Replica): TreeNode[] {
  return buildTree(replica.live.values(), (id) => viewOf(replica.rows.get(id)).timestamp)
}

/** @throws RangeError there is no such bookmark or folder, or the folder is inside the bookmark */
export async function moveBookmark(parts: EditParts, id: string, { parentId, before }: Place): Promise<void> {
  const { replica } = parts
  const { live } = replica
  const bookmark = live.get(id)
  if (!bookmark) throw new RangeError(`There is no bookmark ${id}`)
  const siblings = findFolder(readTree(replica), parentId, id).map((node) => node.bookmark)
  const others = siblings.filter((sibling) => sibling.id !== id)
  const positions = placeBetween(others, id, before)
  const moved: PlaintextBookmark[] = [...positions].map(([key, position]) => {
    const { parentId: from, ...rest } = live.get(key) as PlaintextBookmark
    const parent = key === id ? parentId : from
    return { ...rest, ...(parent !== undefined && { parentId: parent }), position }
  })
  await putBookmarks(parts, moved)
}

/** The folder's contents, found without searching inside the bookmark that moves. */
function findFolder(tree: readonly TreeNode[], parentId: string | undefined, moved: string): readonly TreeNode[] {
  if (parentId === undefined) return tree
  const pending = [...tree]
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (node.bookmark.id === moved) continue
    if (node.bookmark.id === parentId && node.bookmark.url === undefined) return node.children
    pending.push(...node.children)
  }
  throw new RangeError(`There is no folder ${parentId} that ${moved} could be moved into`)
}
