import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Keys } from '../../keys.ts'
import { paced } from '../../timing/paced.ts'
import type { Replica } from '../store/replica.ts'
import type { Row } from '../store/store.ts'
import { type Author, applyEdit, type Edit } from './edit.ts'
import { sealAll } from './seal.ts'

export interface EditParts extends Author {
  replica: Replica
  keys: Keys
}

export interface PutOptions {
  /** What `seen` returned when the edit began, for example when a form was opened. Default: what it returns now. */
  seen?: number | undefined
}

export async function putBookmarks(
  parts: EditParts,
  bookmarks: readonly PlaintextBookmark[],
  { seen = parts.replica.meta.cursor }: PutOptions = {},
): Promise<void> {
  if (!Number.isSafeInteger(seen) || seen < 0) throw new RangeError(`seen must be what seen() returned, not ${seen}`)
  await queueEdits(parts, await sealAll(parts.keys, bookmarks), seen)
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
  accepts: (row: Row) => boolean = () => true,
): Promise<void> {
  if (edits.length === 0) return
  const ids = edits.map(({ id }) => id)
  await parts.replica.commit(ids, 'local', (draft) =>
    paced(edits, (edit) => {
      const row = draft.get(edit.id)
      if (accepts(row)) applyEdit(draft, row, edit, parts, cursor)
    }),
  )
}
