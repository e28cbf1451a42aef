import type { Keys } from '../../crypto/keys.ts'
import { paced } from '../../timing/paced.ts'
import type { Replica } from '../store/replica.ts'
import type { Row } from '../store/store.ts'
import { type Author, applyEdit, type Edit } from './edit.ts'

export interface EditParts extends Author {
  replica: Replica
  keys: Keys
}

export async function removeBookmarks(parts: EditParts, ids: readonly string[]): Promise<void> {
  const edits = ids.map((id) => ({ id, bookmark: null, sealed: null }))
  await queueEdits(parts, edits, parts.replica.meta.cursor)
}

/**
 * Queues edits, all or none; resolves once they would survive a reload. `accepts` may leave some out, judging by the
 * existing row.
 *
 * @param cursor the cursor when the edits were made: later changes had not been seen
 * @throws StorageFullError none were queued
 */
export async function queueEdits(
  parts: EditParts,
  edits: readonly Edit[],
  cursor: number,
  accepts: (row: Row, edit: Edit) => boolean = () => true,
): Promise<void> {
  if (edits.length === 0) return
  const ids = edits.map(({ id }) => id)
  await parts.replica.commit(ids, 'local', (draft) =>
    paced(edits, (edit) => {
      const row = draft.get(edit.id)
      if (accepts(row, edit)) applyEdit(draft, row, edit, parts, { cursor })
    }),
  )
}
