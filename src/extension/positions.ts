import { generateNKeysBetween } from 'fractional-indexing'
import { isPosition } from '../client/sync/edits/positions.ts'

/**
 * Positions that put the ids into this order, for those that need one: what is not steady, and what would be in the wrong
 * place without one or with its own.
 *
 * @param steady what is in order already, with its position; undefined for what has to move
 */
export function spreadPositions(
  ids: readonly string[],
  steady: (id: string) => { position: unknown } | undefined,
): Map<string, string> {
  const known = ids.map(steady)
  const own = known.map((one) => (isPosition(one?.position) ? one.position : null))
  const positions = new Map<string, string>()
  for (let index = 0; index < ids.length; index++) {
    if (known[index] !== undefined) continue
    let start = index
    while (start > 0 && own[start - 1] === null) start--
    const lower = start > 0 ? (own[start - 1] as string) : null
    let end = index + 1
    while (end < ids.length && !(known[end] && canFollow(own[end] as string | null, lower))) end++
    const keys = generateNKeysBetween(lower, own[end] ?? null, end - start)
    for (const [offset, key] of keys.entries()) {
      positions.set(ids[start + offset] as string, key)
      own[start + offset] = key
    }
    index = end - 1
  }
  return positions
}

function canFollow(position: string | null, lower: string | null): boolean {
  return position !== null && (lower === null || position > lower)
}
