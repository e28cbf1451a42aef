import { generateKeyBetween } from 'fractional-indexing'
import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Replica } from '../store/replica.ts'
import { isPosition } from './positions.ts'

/** The last position in each folder; null if it has bookmarks without one. The key `undefined` stands for the top level. */
type Ends = Map<string | undefined, string | null>

/** The last positions given to bookmarks that may not be stored yet, so that no two of them get the same. */
const given = new WeakMap<Replica, Ends>()

/**
 * Gives each bookmark without a position its own one if it stays in its folder, or else one at the folder's end. In a
 * folder with bookmarks that have none, which come last, a new one gets none either.
 */
export function withPlaces(replica: Replica, bookmarks: readonly PlaintextBookmark[]): PlaintextBookmark[] {
  let ends: Ends | undefined
  return bookmarks.map((bookmark) => {
    if (bookmark.position !== undefined) return bookmark
    const before = replica.live.get(bookmark.id)
    if (before && before.parentId === bookmark.parentId) return withPosition(bookmark, before.position)
    ends ??= findEnds(replica)
    const end = ends.get(bookmark.parentId)
    if (end === null || (end !== undefined && !isPosition(end))) return bookmark
    const position = generateKeyBetween(end ?? null, null)
    ends.set(bookmark.parentId, position)
    given.set(replica, ends)
    return withPosition(bookmark, position)
  })
}

function withPosition(bookmark: PlaintextBookmark, position: string | undefined): PlaintextBookmark {
  const { position: _, ...rest } = bookmark
  return position === undefined ? rest : { ...rest, position }
}

function findEnds(replica: Replica): Ends {
  const ends: Ends = new Map()
  const extend = (folder: string | undefined, position: string | null) => {
    const end = ends.get(folder)
    if (end === undefined || position === null || (end !== null && position > end)) ends.set(folder, position)
  }
  for (const bookmark of replica.live.values()) extend(bookmark.parentId, bookmark.position ?? null)
  for (const [folder, position] of given.get(replica) ?? []) if (position !== null) extend(folder, position)
  return ends
}
