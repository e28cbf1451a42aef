import type { SyncReader } from '../../client/index.ts'

/** How many bookmarks have each tag. */
export function countTags(sync: Pick<SyncReader, 'bookmarks'>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { tags } of sync.bookmarks().values()) {
    // Another client may have written anything.
    if (!Array.isArray(tags)) continue
    for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  }
  return counts
}
