import { differingFields, mergeBookmarks, withFieldsOf } from '../../bookmark/merge.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Conflict } from './emitter.ts'
import { viewOf } from './row.ts'
import type { Row } from './store.ts'

/** Devices that edit one bookmark against each other by themselves must not fill the storage. */
const mostKept = 100

export function keepConflict(row: Row, conflict: Conflict): Row {
  return { ...row, conflicts: [...row.conflicts, conflict].slice(-mostKept) }
}

/** The row without the conflicts about which there is nothing left to decide: it has the lost values again, and for good. */
export function withoutEnded(row: Row): Row {
  if (row.conflicts.length === 0 || row.held) return row
  const { bookmark } = viewOf(row)
  return { ...row, conflicts: row.conflicts.filter((conflict) => !hasMine(bookmark, conflict)) }
}

/** The bookmark once the losing edits have been made again; if several changed a field, the last of them. */
export function withMine(bookmark: PlaintextBookmark | null, conflicts: readonly Conflict[]): PlaintextBookmark | null {
  return conflicts.reduce((current, { mine, fields }) => {
    return mine && current && fields.length > 0 ? withFieldsOf(mine, fields, current) : mine
  }, bookmark)
}

/** The fields that a version without a common base loses to another one; none if either is a delete. */
export function fieldsLost(mine: PlaintextBookmark | null, theirs: PlaintextBookmark | null): string[] {
  return mine && theirs ? mergeBookmarks(null, mine, theirs).lost : []
}

function hasMine(bookmark: PlaintextBookmark | null, { mine, fields }: Conflict): boolean {
  if (!bookmark || !mine) return bookmark === mine
  const differing = differingFields(bookmark, mine)
  return fields.length > 0 ? !fields.some((name) => differing.includes(name)) : differing.length === 0
}
