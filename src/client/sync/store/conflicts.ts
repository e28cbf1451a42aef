import { compareVersions } from '../../../protocol/order.ts'
import { isEqual } from '../../bookmark/equal.ts'
import { differingFields, mergeBookmarks } from '../../bookmark/merge.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Conflict } from './emitter.ts'
import { nameOf } from './key.ts'
import { isBlank, versionOf, viewOf } from './row.ts'
import type { Meta, Row, Waiting } from './store.ts'

/** The most conflicts kept of a bookmark: programs that edit it against each other must not fill the storage. */
const mostKept = 100

export function keepConflict(row: Row, conflict: Conflict): Row {
  return { ...row, conflicts: [...row.conflicts, conflict].slice(-mostKept) }
}

/** The row without conflicts that need no decision any more, because the bookmark has the lost values again. */
export function withoutEnded(row: Row): Row {
  if (row.conflicts.length === 0 || row.held) return row
  const { bookmark } = viewOf(row)
  return { ...row, conflicts: row.conflicts.filter((conflict) => !hasMine(bookmark, conflict)) }
}

/** The fields of `mine` that `theirs` overrides; with a `base`, only those that `mine` has changed. None for deletes. */
export function fieldsLost(
  mine: PlaintextBookmark | null,
  theirs: PlaintextBookmark | null,
  base?: PlaintextBookmark | null,
): string[] {
  const lost = mine && theirs ? mergeBookmarks(null, mine, theirs).lost : []
  const changed = mine && base ? differingFields(base, mine) : lost
  return lost.filter((name) => changed.includes(name))
}

function hasMine(bookmark: PlaintextBookmark | null, { mine, fields }: Conflict): boolean {
  if (!bookmark || !mine) return bookmark === mine
  const differing = differingFields(bookmark, mine)
  return fields.length > 0 ? !fields.some((name) => differing.includes(name)) : differing.length === 0
}

export interface Joined {
  row: Row
  conflict?: Conflict
}

/**
 * Joins a row of this tab's copy with the stored row, after the browser has emptied the store and other tabs may have
 * filled it again. Returns an empty list if the stored row has everything. An edit of this copy that loses becomes a
 * conflict, unless it was discarded or is an unedited import.
 */
export function rejoinRow(copy: Row, stored: Row | undefined, meta: Meta | undefined): Joined[] {
  const isWithdrawn = copy.waiting.at(-1)?.change.id === meta?.withdrawn?.[copy.id]
  const last = copy.waiting.at(-1)
  const hasYielded = last?.yields && stored?.version?.bookmark && isEqual(last.bookmark, last.imported)
  const own = isWithdrawn || hasYielded ? { ...copy, waiting: [] } : copy
  if (!stored) return isBlank(own) ? [] : [{ row: own }]
  const isOwnNewer = own.version && (!stored.version || compareVersions(own.version, stored.version) > 0)
  const version = isOwnNewer ? own.version : stored.version
  const isKept = (waiting: Waiting) => !version || compareVersions(versionOf(waiting), version) > 0
  const kept = stored.waiting.length > 0 ? [] : own.waiting.filter(isKept)
  const waiting = kept.length > 0 ? kept : stored.waiting
  const isMissing = (conflict: Conflict) => !stored.conflicts.some((one) => isEqual(one, conflict))
  const missing = own.conflicts.filter(isMissing)
  const row = { ...stored, version, waiting, conflicts: [...missing, ...stored.conflicts].slice(-mostKept) }
  const conflict = kept.length > 0 ? undefined : conflictOf(own, row)
  if (conflict) return [{ row: keepConflict(row, conflict), conflict }]
  return isOwnNewer || kept.length > 0 || missing.length > 0 ? [{ row }] : []
}

/** The conflict of this copy's last edit, if the edit is not part of the row. */
function conflictOf({ id, waiting, version }: Row, row: Row): Conflict | undefined {
  const last = waiting.at(-1)
  const { bookmark: theirs, data_hash } = viewOf(row)
  if (!last || (last.change.data_hash ?? null) === data_hash) return undefined
  const fields = fieldsLost(last.bookmark, theirs, version?.bookmark)
  return last.bookmark && theirs && fields.length === 0
    ? undefined
    : { ...nameOf(id), fields, mine: last.bookmark, theirs }
}
