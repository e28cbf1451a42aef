import { compareVersions, isSameContent } from '../../../protocol/versions.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { newestOf, versionOf, viewOf } from '../store/row.ts'
import type { Row, Version } from '../store/store.ts'

/** What is known about an event besides its version. */
export interface Circumstances {
  deviceId: string
  /** The cursor before the event arrived. */
  base: number
  /** Whether the device that made the event had not seen this version of ours. */
  overwrites(mine: Version): boolean
}

export type Merged =
  /** Nothing new. */
  | { kind: 'known' }
  /** Older than `than`, which the service had sent or accepted before. */
  | { kind: 'older'; than: Version }
  | { kind: 'taken'; row: Row; lost?: { mine: PlaintextBookmark | null } }

/** Merges a version that the service sent into the row. Edits that win against it are kept. */
export function mergeVersion(row: Row, version: Version, circumstances: Circumstances): Merged {
  const [first] = row.waiting
  if (first && compareVersions(version, versionOf(first)) === 0) {
    return { kind: 'taken', row: settleFirst(row, { ...version, bookmark: first.bookmark }) }
  }
  const known = newestOf(row)
  const order = known ? compareVersions(version, known) : 1
  if (known && order < 0) return { kind: 'older', than: known }
  if (known && order === 0) return known.confirmed ? { kind: 'known' } : { kind: 'taken', row: confirmed(row) }

  const last = row.waiting.at(-1)
  if (last && compareVersions(versionOf(last), version) > 0) {
    const waiting = row.waiting.filter((one) => compareVersions(versionOf(one), version) > 0)
    return { kind: 'taken', row: { ...row, version, waiting, held: null, unreadable: null } }
  }
  const mine = last ? versionOf(last) : overwrittenVersion(row, version, circumstances)
  const without = { ...row, waiting: [], unreadable: null }
  // A delete of a visible bookmark is held until the number of deletes is known.
  const isHeld = version.bookmark === null && viewOf(without).bookmark !== null
  const taken = isHeld
    ? { ...without, held: { ...version, base: circumstances.base } }
    : { ...without, version, held: null }
  if (!mine || isSameContent(mine, version)) return { kind: 'taken', row: taken }
  return { kind: 'taken', row: taken, lost: { mine: mine.bookmark } }
}

/** Records a version that cannot be decrypted. What was there stays, and a later edit gets a higher timestamp. */
export function mergeUnreadable(row: Row, event: Pick<Version, 'event_id' | 'timestamp'>, base: number): Row {
  return { ...row, unreadable: { event_id: event.event_id, timestamp: event.timestamp, base } }
}

/** Removes the first pending change, which has become this version. */
export function settleFirst(row: Row, version: Version): Row {
  const waiting = row.waiting.slice(1)
  const known = newestOf(row)
  if (known && compareVersions(known, version) > 0) return { ...row, waiting }
  const unreadable = row.unreadable && row.unreadable.timestamp > version.timestamp ? row.unreadable : null
  return { ...row, version, waiting, held: null, unreadable }
}

/** This device's version, if it was accepted and then replaced by a device that had not seen it. */
function overwrittenVersion({ version: mine }: Row, theirs: Version, circumstances: Circumstances): Version | null {
  const { deviceId, overwrites } = circumstances
  const isMine = mine?.device_id === deviceId && theirs.device_id !== deviceId
  return isMine && overwrites(mine) ? mine : null
}

function confirmed(row: Row): Row {
  return { ...row, version: row.version && { ...row.version, confirmed: true } }
}
