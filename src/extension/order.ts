/** Returns the indexes of a longest increasing subsequence: these values can stay while the others move. */
function longestRising(values: readonly number[]): Set<number> {
  /** At index n, the index of the least value that ends a subsequence of length n + 1. */
  const ends: number[] = []
  const before: number[] = []
  for (const [index, value] of values.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((values[ends[middle] as number] as number) < value) low = middle + 1
      else high = middle
    }
    before.push(low > 0 ? (ends[low - 1] as number) : -1)
    ends[low] = index
  }
  const kept = new Set<number>()
  for (let at = ends.at(-1) ?? -1; at !== -1; at = before[at] as number) kept.add(at)
  return kept
}

/** The ids that can stay in place if the others move. `rankOf` returns undefined for ids that were not there before. */
export function idsInPlace(ids: readonly string[], rankOf: (id: string) => number | undefined): Set<string> {
  const known = ids.filter((id) => rankOf(id) !== undefined)
  const kept = longestRising(known.map((id) => rankOf(id) as number))
  return new Set(known.filter((_, index) => kept.has(index)))
}

/** Inserts the `ids` that `list` lacks, each after its predecessor in `ids`, or at the start. */
export function insertAfter(list: readonly string[], ids: readonly string[]): string[] {
  const there = new Set(list)
  const first: string[] = []
  const behind = new Map<string, string[]>()
  let group = first
  for (const id of ids) {
    if (there.has(id)) {
      group = []
      behind.set(id, group)
    } else group.push(id)
  }
  return [...first, ...list.flatMap((id) => [id, ...(behind.get(id) ?? [])])]
}

/**
 * Merges the orders of a folder that both sides may have changed. The result is the service's order, except that an
 * entry that was moved or added in the browser stays after the one that it follows in the browser.
 */
export function mergeOrder(
  agreed: readonly string[],
  inBrowser: readonly string[],
  inService: readonly string[],
): string[] {
  // If no order was agreed, for example at the first comparison, bookmarks that only the browser has go to the end.
  if (agreed.length === 0) return [...new Set([...inService, ...inBrowser])]
  const rank = ranks(agreed)
  const steady = idsInPlace(inBrowser, (id) => rank.get(id))
  const moved = new Set(inBrowser.filter((id) => rank.has(id) && !steady.has(id)))
  return insertAfter(
    inService.filter((id) => !moved.has(id)),
    inBrowser,
  )
}

export function ranks(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id, index) => [id, index]))
}
