import type { PlaintextBookmark } from '../../bookmark.ts'
import type { SealedRecord } from '../../crypto/record.ts'
import { uuidv7 } from '../../ids.ts'
import type { Clock } from '../../timing/clock.ts'
import type { Draft } from '../store/draft.ts'
import { latestTimestamp, releaseHeld, viewOf } from '../store/row.ts'
import { nextTick } from '../store/service-clock.ts'
import type { Row, Waiting } from '../store/store.ts'

/** The new content of a bookmark, or null to delete it. */
export type Edit = { id: string } & (
  | { bookmark: PlaintextBookmark; sealed: SealedRecord }
  | { bookmark: null; sealed: null }
)

/** Who makes the edits, and by which clock. */
export interface Author {
  userId: string
  deviceId: string
  clock: Clock
}

/** What was known when an edit was made. */
export interface Basis {
  /** The cursor when the edit was made: later changes had not been seen. */
  cursor: number
  /** Whether it overwrites a version that had not been seen. */
  overwrites?: boolean | undefined
  /** A timestamp that the edit must exceed, besides those in the row. */
  above?: number | undefined
}

/**
 * Puts the edited row into the draft, unless the edit changes nothing. The edit's timestamp is a reading of the corrected
 * clock, higher than all earlier readings.
 */
export function applyEdit(draft: Draft, row: Row, edit: Edit, author: Author, basis: Basis): void {
  const tick = nextTick(author.clock, draft.meta)
  const edited = editRow(row, edit, { ...author, ...basis, tick })
  if (edited === row) return
  draft.set(edited)
  draft.setMeta({ lastTick: tick })
}

interface EditContext extends Author, Basis {
  tick: number
}

/**
 * The row after an edit; the same row if the edit changes nothing.
 *
 * The change's timestamp is higher than every known one of the bookmark, whatever the clocks say. A pending change that
 * was never sent is replaced, so a device's edits between two exchanges become one. A sent change is kept, and settled
 * first.
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

function toWaiting(row: Row, edit: Edit, context: EditContext): Waiting {
  const { userId, deviceId, tick, cursor, above = 0 } = context
  const last = row.waiting.at(-1)
  const change = {
    id: uuidv7(),
    user_id: userId,
    entity_type: 'bookmark' as const,
    entity_id: edit.id,
    timestamp: Math.max(tick, above + 1, latestTimestamp(row, last ? [last.change] : []) + 1),
    device_id: deviceId,
    base: baseOf(row, cursor),
  }
  // Whoever made the delete that is held here is told, too.
  const overwrites = context.overwrites || last?.overwrites || row.held
  const state = { sent: false, ...(overwrites && { overwrites: true }) }
  if (edit.bookmark === null) return { change: { ...change, operation: 'delete' }, bookmark: null, ...state }
  const there = row.waiting.findLast(({ sent }) => sent) ?? releaseHeld(row).version
  const operation = there?.bookmark ? 'update' : 'create'
  return { change: { ...change, operation, ...edit.sealed }, bookmark: edit.bookmark, ...state }
}

/** The cursor up to which the user had seen the bookmark: nothing after a pending change, held delete or unreadable version. */
function baseOf({ waiting, held, unreadable }: Row, cursor: number): number {
  return Math.min(cursor, waiting.at(-1)?.change.base ?? cursor, held?.base ?? cursor, unreadable?.base ?? cursor)
}
