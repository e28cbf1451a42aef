import { generateKeyBetween, generateNKeysBetween } from 'fractional-indexing'
import type { PlaintextBookmark } from '../../bookmark.ts'

/**
 * The positions that put `moved` before the sibling `before`, or last if there is none: its own position, and positions
 * for siblings that had none or shared one and would otherwise be in the wrong place.
 *
 * @param siblings the folder's, in order, without `moved`
 * @returns positions by id
 */
export function placeBetween(
  siblings: readonly Readonly<PlaintextBookmark>[],
  moved: string,
  before: string | undefined,
): Map<string, string> {
  const found = siblings.findIndex(({ id }) => id === before)
  const index = found === -1 ? siblings.length : found
  let start = index
  while (start > 0 && positionOf(siblings[start - 1]) === null) start--
  const lower = positionOf(siblings[start - 1])
  let end = index
  while (end < siblings.length && !comesAfter(siblings[end], lower)) end++
  const ids = [...siblings.slice(start, index), { id: moved }, ...siblings.slice(index, end)].map(({ id }) => id)
  const keys = generateNKeysBetween(lower, positionOf(siblings[end]), ids.length)
  return new Map(ids.map((id, place) => [id, keys[place] as string]))
}

/** Whether it is a fractional index: others cannot bound one. */
export function isPosition(position: unknown): position is string {
  if (typeof position !== 'string' || !/^[A-Za-z][0-9A-Za-z]+$/.test(position)) return false
  try {
    generateKeyBetween(position, null)
    return true
  } catch {
    return false
  }
}

/** Whether the sibling can keep its position and come after a new one that is above `lower`. */
function comesAfter(sibling: Readonly<PlaintextBookmark> | undefined, lower: string | null): boolean {
  const position = positionOf(sibling)
  return typeof sibling?.position !== 'string' || (position !== null && (lower === null || position > lower))
}

function positionOf(bookmark: Readonly<PlaintextBookmark> | undefined): string | null {
  return isPosition(bookmark?.position) ? bookmark.position : null
}
