import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import { typeOf } from './key.ts'
import type { Meta, Row, Stored, Version, Waiting } from './store.ts'

/** A row as the user sees it. */
export interface View {
  bookmark: PlaintextBookmark | null
  data_hash: string | null
  /** The timestamp of the visible version (Unix ms); 0 if there is none. */
  timestamp: number
  operation?: Version['operation']
}

const nothing: View = { bookmark: null, data_hash: null, timestamp: 0 }

/** The user sees their own edits at once, but not a held delete, which waits for approval or for the end of its pull. */
export function viewOf(row: Row | undefined): View {
  const last = row?.waiting.at(-1)
  if (last) return versionOf(last)
  return row?.version ?? nothing
}

export function blankRow(id: string): Row {
  return { id, version: null, waiting: [], held: null, unreadable: null, conflicts: [] }
}

/** The row without its version's content and conflicts, unless its pending edit needs them for a merge. */
export function withoutBase(row: Row): Row {
  const isNeeded = typeOf(row.id) !== 'history' && row.waiting.at(-1)?.bookmark
  if (!row.version || isNeeded) return row
  const { changed: _, before: __, editedOn: ___, ...version } = row.version
  return { ...row, version: { ...version, bookmark: null }, conflicts: [] }
}

/** True for a row that need not be stored. */
export function isBlank({ version, waiting, held, unreadable, conflicts }: Row): boolean {
  return !version && waiting.length === 0 && !held && !unreadable && conflicts.length === 0
}

/** The stored rows, with defaults for what earlier versions of this package did not store. */
export async function completed({ meta, rows: stored }: Stored): Promise<Stored> {
  const rows: Row[] = []
  await paced(stored, (row) => rows.push({ ...blankRow(row.id), ...row }))
  return { meta: meta && { ...blankMeta(meta.userId), ...meta }, rows }
}

export function blankMeta(userId: string): Meta {
  return { userId, cursor: 0, clockOffset: 0, lastTick: 0, lastSync: 0, guarding: false }
}

/** True for a row without a version, if the service may have one: its type was added, and was not completely pulled yet. */
export function isUnknownYet({ id, version }: Row, { added }: Readonly<Meta>): boolean {
  return !version && added !== undefined && added.types.includes(typeOf(id))
}

/** The present device id, and the earlier ones of this store. */
export function ownIds({ deviceIds = {} }: Readonly<Meta>, present: string): Set<string> {
  return new Set([present, ...Object.entries(deviceIds).flat()])
}

/** True if the row's last edit was refused, and waits for a retry. */
export function isQuarantined({ waiting }: Row): boolean {
  return waiting.at(-1)?.refusal !== undefined
}

/** The newest readable version that the service sent or accepted, whether visible or held. */
export function newestOf(row: Row): Version | null {
  return row.held ?? row.version
}

/** The latest timestamp of the row's versions and of the changes (Unix ms), which a new edit must exceed; 0 if there is none. */
export function latestTimestamp({ version, held, unreadable }: Row, changes: readonly Waiting['change'][]): number {
  return Math.max(0, ...[version, held, unreadable, ...changes].map((known) => known?.timestamp ?? 0))
}

export function versionOf({ change, bookmark }: Waiting): Version {
  const { id, timestamp, device_id, operation, data_hash = null, base, overwritten, recovered } = change
  return {
    event_id: id,
    timestamp,
    device_id,
    operation,
    data_hash,
    bookmark,
    confirmed: false,
    base,
    overwritten,
    recovered,
  }
}

/** Applies a held delete. */
export function releaseHeld(row: Row): Row {
  if (!row.held) return row
  const { base: _, ...version } = row.held
  return { ...row, version, held: null }
}
