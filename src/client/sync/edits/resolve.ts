import { isEqual } from '../../bookmark/equal.ts'
import { withFieldsOf } from '../../bookmark/merge.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Conflict } from '../store/emitter.ts'
import { viewOf } from '../store/row.ts'
import { applyEdit, type EditParts, sealOne } from './edit.ts'

/** Ends one conflict, or all of a bookmark. */
export async function resolveConflicts(
  parts: EditParts,
  which: Conflict | string,
  choice: 'mine' | 'theirs',
): Promise<void> {
  if (choice !== 'mine' && choice !== 'theirs') throw new RangeError(`choice must be mine or theirs, not ${choice}`)
  const id = typeof which === 'string' ? which : which.id
  const isMeant = (conflict: Conflict) => which === id || isEqual(conflict, which)
  await parts.replica.commit([id], 'local', (draft) => {
    const row = draft.get(id)
    const ended = row.conflicts.filter(isMeant)
    if (ended.length === 0) return
    const settled = { ...row, conflicts: row.conflicts.filter((conflict) => !isMeant(conflict)) }
    draft.set(settled)
    if (choice === 'theirs') return
    const bookmark = withMine(viewOf(settled).bookmark, ended)
    const edit = bookmark ? sealOne(parts.keys, bookmark) : { id, bookmark: null, sealed: null }
    applyEdit(draft, settled, edit, parts, { cursor: draft.meta.cursor })
  })
}

/** The bookmark once the losing edits have been made again; if several changed a field, the last of them. */
export function withMine(bookmark: PlaintextBookmark | null, conflicts: readonly Conflict[]): PlaintextBookmark | null {
  return conflicts.reduce((current, { mine, fields }) => {
    return mine && current && fields.length > 0 ? withFieldsOf(mine, fields, current) : mine
  }, bookmark)
}
