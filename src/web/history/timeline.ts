import type { BookmarkVersion } from '../../client/history.ts'
import type { Bookmark } from '../library/kind.ts'

/** What each version is compared with. */
export type Against = 'previous' | 'now'

/** What a bookmark is or was at a time. */
export interface TimelineEntry {
  key: string
  /** Null if it was deleted, or if it cannot be decrypted. */
  bookmark: Bookmark | null
  /** The stored version; undefined is what the bookmark is now. */
  version: BookmarkVersion | undefined
  /** When it was made; undefined if nobody knows any more. */
  at: number | undefined
  /** What to mark the differences of. Undefined: there is nothing to compare it with. */
  change: { before: Bookmark; after: Bookmark } | undefined
}

/** What the bookmark is now and its versions, newest first. */
export function timeline(
  current: Bookmark | undefined,
  versions: readonly BookmarkVersion[],
  against: Against,
): TimelineEntry[] {
  const [latest] = versions.filter(wasCurrent)
  if (!current && !latest) return []
  const now = {
    key: 'now',
    bookmark: current ?? null,
    version: undefined,
    at: latest?.ended ?? timeOf(current?.dateAdded),
    change: against === 'previous' ? changeOf(latest?.bookmark, current) : undefined,
  }
  return [
    now,
    ...versions.map((version) => ({
      key: version.versionId,
      bookmark: version.bookmark,
      version,
      at: version.timestamp,
      change:
        against === 'now'
          ? changeOf(version.bookmark, current)
          : changeOf(comparedWith(version, versions, current), version.bookmark),
    })),
  ]
}

/** The version before it; of one that lost when it arrived, the one that won. */
function comparedWith(version: BookmarkVersion, versions: readonly BookmarkVersion[], current: Bookmark | undefined) {
  const others = versions.filter(wasCurrent)
  if (wasCurrent(version)) return others[others.indexOf(version) + 1]?.bookmark
  const winner = others.find(({ began, ended }) => (began ?? 0) <= version.ended && version.ended < ended)
  return winner ? winner.bookmark : current
}

function wasCurrent({ began }: BookmarkVersion): boolean {
  return began !== null
}

function changeOf(before: Bookmark | null | undefined, after: Bookmark | null | undefined) {
  return before && after ? { before, after } : undefined
}

function timeOf(date: string | undefined): number | undefined {
  const time = Date.parse(date ?? '')
  return Number.isNaN(time) ? undefined : time
}
