import { isPosition, positionsBetween } from './positions.ts'

/**
 * The new positions that put the ids into this order: for those that move, and those whose position does not fit in.
 *
 * @param steady returns the bookmark if it stays where it is; undefined if it moves
 */
export function spreadPositions(
  ids: readonly string[],
  steady: (id: string) => { position?: unknown } | undefined,
  deviceId: string,
): Map<string, string> {
  const known = ids.map(steady)
  const own = known.map((one) => (isPosition(one?.position) ? one.position : null))
  const positions = new Map<string, string>()
  for (let index = 0; index < ids.length; index++) {
    if (known[index] !== undefined) continue
    let start = index
    while (start > 0 && own[start - 1] === null) start--
    const lower = own[start - 1] ?? null
    let end = index + 1
    while (end < ids.length && !canFollow(known[end], lower)) end++
    for (const key of positionsBetween(lower, own[end] ?? null, end - start, deviceId)) {
      positions.set(ids[start] as string, key)
      own[start++] = key
    }
    index = end - 1
  }
  return positions
}

/** True if the bookmark stays and comes after `lower`. Without a position, it comes last anyway. */
function canFollow(steady: { position?: unknown } | undefined, lower: string | null): boolean {
  if (typeof steady?.position !== 'string') return steady !== undefined
  return isPosition(steady.position) && (lower === null || steady.position > lower)
}
