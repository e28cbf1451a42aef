import { v7 as uuidv7 } from 'uuid'
import type { PlaintextBookmark } from '../../bookmark.ts'
import type { SealedRecord } from '../../record.ts'
import type { Clock } from '../../timing/clock.ts'
import type { Draft } from '../store/draft.ts'
import { releaseHeld, viewOf } from '../store/row.ts'
import { nextTick } from '../store/service-clock.ts'
import type { Row, Waiting } from '../store/store.ts'

/** What to make of a bookmark: this, or nothing. */
export type Edit = { id: string } & (
  | { bookmark: PlaintextBookmark; sealed: SealedRecord }
  | { bookmark: null; sealed: null }
)

/** Who edits, and by which clock. */
export interface Author {
  userId: string
  deviceId: string
  clock: Clock
}

/**
 * Puts the row after an edit into the draft, unless the edit changes nothing. The edit is stamped with a reading of the
 * corrected clock, above all that were taken before.
 *
 * @param cursor when the edit was made: what came since was not seen
 */
export function applyEdit(draft: Draft, row: Row, edit: Edit, author: Author, cursor: number): void {
  const tick = nextTick(author.clock, draft.meta)
  const edited = editRow(row, edit, { ...author, tick, cursor })
  if (edited === row) return
  draft.set(edited)
  draft.setMeta({ lastTick: tick })
}

interface EditContext extends Author {
  tick: number
  cursor: number
}

/**
 * The row after an edit; the same row when the edit changes nothing.
 *
 * Its change is stamped above everything known of the bookmark, whatever the clocks say. A waiting change that was never
 * sent is replaced: the edits of one device between two exchanges are one. One that was sent is kept, and settled first.
 */
function editRow(row: Row, edit: Edit, context: EditContext): Row {
  const view = viewOf(row)
  if (edit.sealed ? view.data_hash === edit.sealed.data_hash : view.bookmark === null) return row
  const released = releaseHeld(row)
  const sent = row.waiting.filter((waiting) => waiting.sent)
  const isUnknownThere = sent.length === 0 && !released.version?.bookmark && !row.unreadable
  if (edit.bookmark === null && isUnknownThere) return { ...released, waiting: [] }
  return { ...released, waiting: [...sent, toWaiting(row, edit, context)] }
}

function toWaiting(row: Row, edit: Edit, { userId, deviceId, tick, cursor }: EditContext): Waiting {
  const last = row.waiting.at(-1)
  const known = [row.version, row.held, row.unreadable, last?.change].map((version) => version?.timestamp ?? 0)
  const change = {
    id: uuidv7(),
    user_id: userId,
    entity_type: 'bookmark' as const,
    entity_id: edit.id,
    timestamp: Math.max(tick, ...known.map((timestamp) => timestamp + 1)),
    device_id: deviceId,
    base: baseOf(row, cursor),
  }
  if (edit.bookmark === null) return { change: { ...change, operation: 'delete' }, bookmark: null, sent: false }
  const there = row.waiting.findLast(({ sent }) => sent) ?? releaseHeld(row).version
  const operation = there?.bookmark ? 'update' : 'create'
  return { change: { ...change, operation, ...edit.sealed }, bookmark: edit.bookmark, sent: false }
}

/** Up to where the user had seen the bookmark: behind an own change that waits, a held delete or what does not open, nothing. */
function baseOf({ waiting, held, unreadable }: Row, cursor: number): number {
  return Math.min(cursor, waiting.at(-1)?.change.base ?? cursor, held?.base ?? cursor, unreadable?.base ?? cursor)
}
