import { spreadPositions } from '../../bookmark/spread-positions.ts'
import type { TreeNode } from '../../bookmark/tree.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Engine } from '../engine.ts'
import { idOf, rowKey } from '../store/key.ts'
import type { Draft } from '../store/replica.ts'
import { viewOf } from '../store/row.ts'
import { applyEdit, type SealedEdit, sealAgain, sealAll } from './edit.ts'

/** The place that a bookmark is moved to. */
export interface Place {
  /** The folder's id. Default: the top level. */
  parentId?: string | undefined
  /** The id of the bookmark in that folder to put it before. Default, or if that is not there: it goes last. */
  before?: string | undefined
}

/** If more bookmarks than this get a position, they are encrypted before the transaction, without blocking the page. */
const fewSiblings = 20

/** @throws RangeError there is no such bookmark or folder, or the folder is inside one of the bookmarks */
export async function moveBookmarks(
  parts: Engine,
  list: readonly string[],
  place: Place,
  type: 'bookmark' | 'group' = 'bookmark',
): Promise<void> {
  if (list.length === 0) return
  const { replica, keys } = parts
  const ids = new Set(list)
  const sealed = new Map<string, SealedEdit>()
  let positions = new Map<string, string>()
  const keysOf = () => [...positions.keys()].map((id) => rowKey(id, type))
  const plan = () => {
    positions = findPositions(parts, ids, place, type)
    return keysOf()
  }
  const moved = (bookmark: PlaintextBookmark): PlaintextBookmark => {
    const { parentId: from, ...rest } = bookmark
    const parentId = ids.has(bookmark.id) ? place.parentId : from
    const position = positions.get(bookmark.id) as string
    return { ...rest, ...(parentId !== undefined && { parentId }), position }
  }
  const move = (draft: Draft): boolean => {
    if (positions.size > fewSiblings && sealed.size === 0) return false
    for (const row of keysOf().map((key) => draft.get(key))) {
      const { bookmark } = viewOf(row)
      const id = idOf(row.id)
      if (!bookmark && ids.has(id)) throw new RangeError(`There is no bookmark ${id}`)
      if (!bookmark) continue
      const edit = sealAgain(keys, row.id, moved(bookmark), sealed.get(row.id))
      applyEdit(draft, row, edit, parts, { cursor: draft.meta.cursor })
      replica.requested.set(row.id, moved(replica.requested.get(row.id) ?? ({ id } as PlaintextBookmark)))
    }
    return true
  }
  while (!(await replica.commit(plan, 'local', move))) {
    const shown = [...positions.keys()].flatMap((id) => replica.lives[type].get(id) ?? [])
    const records = shown.map((one) => [rowKey(one.id, type), moved(one)] as const)
    for (const edit of await sealAll(keys, records)) sealed.set(edit.id, edit)
  }
}

/** The new positions by id: those of the moved bookmarks, and those of siblings that need one. */
function findPositions(
  { replica, trees, deviceId }: Engine,
  ids: ReadonlySet<string>,
  { parentId, before }: Place,
  type: 'bookmark' | 'group',
): Map<string, string> {
  for (const id of ids) if (!replica.lives[type].has(id)) throw new RangeError(`There is no bookmark ${id}`)
  const siblings = findFolder(trees[type].read(), parentId, ids).map((node) => node.bookmark)
  return placeBetween(
    siblings.filter(({ id }) => !ids.has(id)),
    [...ids],
    before,
    deviceId,
  )
}

/** The folder's contents. Does not look inside the bookmarks that move: a folder must not get into itself. */
function findFolder(
  tree: readonly TreeNode[],
  parentId: string | undefined,
  moved: ReadonlySet<string>,
): readonly TreeNode[] {
  if (parentId === undefined) return tree
  const pending = [...tree]
  for (let node = pending.pop(); node; node = pending.pop()) {
    if (moved.has(node.bookmark.id)) continue
    if (node.bookmark.id === parentId && node.bookmark.url === undefined) return node.children
    // One by one, because a call takes at most some 120,000 arguments.
    for (const child of node.children) pending.push(child)
  }
  throw new RangeError(`There is no folder ${parentId} outside of what is moved`)
}

/**
 * The positions that put `moved` before the sibling `before`, or last if there is none. Includes new positions for
 * siblings that had none or shared one and would otherwise be in the wrong place.
 *
 * @param siblings the other bookmarks of the folder, in order
 * @returns positions by id
 */
export function placeBetween(
  siblings: readonly Readonly<PlaintextBookmark>[],
  moved: readonly string[],
  before: string | undefined,
  deviceId: string,
): Map<string, string> {
  const byId = new Map(siblings.map((sibling) => [sibling.id, sibling]))
  const ids = [...byId.keys()]
  const index = before !== undefined && byId.has(before) ? ids.indexOf(before) : ids.length
  return spreadPositions([...ids.slice(0, index), ...moved, ...ids.slice(index)], (id) => byId.get(id), deviceId)
}
