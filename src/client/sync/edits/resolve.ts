import { isEqual } from '../../bookmark/equal.ts'
import { differingFields, withFieldsOf } from '../../bookmark/merge.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Engine } from '../engine.ts'
import type { Conflict } from '../store/emitter.ts'
import { rowKey } from '../store/key.ts'
import { viewOf } from '../store/row.ts'
import { applyEdit, sealOne } from './edit.ts'
import { putOne } from './put.ts'

/** Ends one conflict, or all of a bookmark. */
export async function resolveConflicts(
  parts: Engine,
  which: Conflict | string,
  choice: 'mine' | 'theirs',
): Promise<void> {
  if (choice !== 'mine' && choice !== 'theirs') throw new RangeError(`choice must be mine or theirs, not ${choice}`)
  const id = typeof which === 'string' ? which : rowKey(which.id, which.entityType)
  const isMeant = (conflict: Conflict) => which === id || isEqual(conflict, which)
  await parts.replica.commit([id], 'local', (draft) => {
    const row = draft.get(id)
    const ended = row.conflicts.filter(isMeant)
    if (ended.length === 0) return
    const settled = { ...row, conflicts: row.conflicts.filter((conflict) => !isMeant(conflict)) }
    draft.set(settled)
    if (choice === 'theirs') return
    const { bookmark: current } = viewOf(settled)
    const mine = withMine(current, ended)
    // The user has decided against the values that were shown, but not against later ones.
    const asShown = ended.map((conflict) => ({ ...conflict, mine: conflict.theirs }))
    const shown = withMine(current, asShown)
    const { cursor } = draft.meta
    if (mine) return putOne(parts, draft, sealOne(parts.keys, mine, id), { bookmark: shown, cursor, isEarlier: false })
    applyEdit(draft, settled, { id, bookmark: null, sealed: null }, parts, { cursor })
    const isShown = !current || (shown && differingFields(shown, current).length === 0)
    if (!isShown) draft.addConflict(draft.get(id), { fields: [], mine: current, theirs: null })
  })
}

/** The bookmark with the losing edits applied again. If several changed a field, the last one wins. */
export function withMine(bookmark: PlaintextBookmark | null, conflicts: readonly Conflict[]): PlaintextBookmark | null {
  return conflicts.reduce((current, { mine, fields }) => {
    return mine && current && fields.length > 0 ? withFieldsOf(mine, fields, current) : mine
  }, bookmark)
}
