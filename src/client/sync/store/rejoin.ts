import { compareVersions } from '../../../protocol/versions.ts'
import { isEqual } from '../../bookmark/equal.ts'
import { fieldsLost, keepConflict } from './conflicts.ts'
import type { Conflict } from './emitter.ts'
import { isBlank, versionOf, viewOf } from './row.ts'
import type { Meta, Row, Waiting } from './store.ts'

export interface Joined {
  row: Row
  conflict?: Conflict
}

/**
 * A row of this tab's copy, and the stored one after the browser has emptied the store and another tab has filled it again:
 * what either knows remains. Returns nothing if the stored row has it all. An edit that this decides against is kept as a
 * conflict and reported.
 */
export function rejoinRow(copy: Row, stored: Row | undefined, meta: Meta | undefined): Joined[] {
  const isWithdrawn = copy.waiting.at(-1)?.change.id === meta?.withdrawn?.[copy.id]
  const own = isWithdrawn ? { ...copy, waiting: [] } : copy
  if (!stored) return isBlank(own) ? [] : [{ row: own }]
  const isOwnNewer = own.version && (!stored.version || compareVersions(own.version, stored.version) > 0)
  const version = isOwnNewer ? own.version : stored.version
  const isKept = (waiting: Waiting) => !version || compareVersions(versionOf(waiting), version) > 0
  const kept = stored.waiting.length > 0 ? [] : own.waiting.filter(isKept)
  const waiting = kept.length > 0 ? kept : stored.waiting
  const isMissing = (conflict: Conflict) => !stored.conflicts.some((one) => isEqual(one, conflict))
  const missing = own.conflicts.filter(isMissing)
  const row = { ...stored, version, waiting, conflicts: [...stored.conflicts, ...missing] }
  const conflict = kept.length > 0 ? undefined : conflictOf(own, row)
  if (conflict) return [{ row: keepConflict(row, conflict), conflict }]
  return isOwnNewer || kept.length > 0 || missing.length > 0 ? [{ row }] : []
}

/** What the last edit of this copy lost, if it is not part of the row. */
function conflictOf({ id, waiting }: Row, row: Row): Conflict | undefined {
  const last = waiting.at(-1)
  const { bookmark: theirs, data_hash } = viewOf(row)
  if (!last || (last.change.data_hash ?? null) === data_hash) return undefined
  const fields = fieldsLost(last.bookmark, theirs)
  return last.bookmark && theirs && fields.length === 0 ? undefined : { id, fields, mine: last.bookmark, theirs }
}
