import type { PlaintextBookmark } from '../bookmark.ts'
import type { Draft } from './draft.ts'
import { type Edit, editRow } from './edit.ts'
import type { Engine } from './engine.ts'
import { sealAll } from './seal.ts'
import type { Row } from './store.ts'

export interface PutOptions {
  /** What `seen` returned when the edit began, such as when a form was opened. Default: what it returns now. */
  seen?: number | undefined
}

export async function putBookmarks(
  engine: Engine,
  bookmarks: readonly PlaintextBookmark[],
  { seen = engine.replica.meta.cursor }: PutOptions = {},
): Promise<void> {
  await queueEdits(engine, await sealAll(engine, bookmarks), seen)
}

export async function removeBookmarks(engine: Engine, ids: readonly string[]): Promise<void> {
  const edits = ids.map((id) => ({ id, bookmark: null, sealed: null }))
  await queueEdits(engine, edits, engine.replica.meta.cursor)
}

/**
 * Queues edits, all or none; resolves once they would survive a reload. `accepts` may leave some out, by what is there.
 *
 * @param cursor when the edits were made: what came since was not seen
 * @throws StorageFullError none was queued
 */
export async function queueEdits(
  engine: Engine,
  edits: readonly Edit[],
  cursor: number,
  accepts: (row: Row) => boolean = () => true,
): Promise<void> {
  if (edits.length === 0) return
  const ids = edits.map(({ id }) => id)
  await engine.replica.commit(ids, 'local', (draft) => {
    for (const edit of edits) {
      const row = draft.get(edit.id)
      if (accepts(row)) applyEdit(engine, draft, row, edit, cursor)
    }
  })
  engine.isPushRefused = false
  engine.status.refresh()
  engine.work.ring()
}

/** Stamps the edit with a reading of the corrected clock, above all that were taken before. */
export function applyEdit(engine: Engine, draft: Draft, row: Row, edit: Edit, cursor: number): void {
  const { clock, userId, deviceId } = engine
  const { clockOffset, lastTick } = draft.meta
  const tick = Math.max(clock.now() + clockOffset, lastTick + 1)
  const edited = editRow(row, edit, { userId, deviceId, tick, cursor })
  if (edited === row) return
  draft.set(edited)
  draft.setMeta({ lastTick: tick })
}
