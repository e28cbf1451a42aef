import type { PlaintextBookmark } from '../bookmark.ts'
import { blankRow } from '../sync/store/row.ts'
import type { Meta, Row } from '../sync/store/store.ts'

export function newUser(): string {
  return `user-${crypto.randomUUID()}`
}

export function metaOf(userId: string): Meta {
  return { userId, cursor: 7, clockOffset: -3, lastTick: 1, lastSync: 2, guarding: false }
}

export function bookmarkOf(id: string, title: string): PlaintextBookmark {
  return { id, title, source: 'bookmarks', url: `https://example.org/${id}` }
}

export function versionOf(id: string, title: string) {
  return {
    event_id: `event-${id}`,
    timestamp: 5,
    device_id: 'phone',
    operation: 'create' as const,
    data_hash: 'ab12',
    bookmark: bookmarkOf(id, title),
    confirmed: true,
  }
}

export function rowOf(id: string, title = 'title'): Row {
  return { ...blankRow(id), version: versionOf(id, title) }
}

/** An edit that was sent, a held delete, and an edit that lost. */
export function waitingRow(id: string, user_id: string): Row {
  const change = {
    ...{ id: `edit-${id}`, user_id, entity_type: 'bookmark' as const, entity_id: id, operation: 'update' as const },
    ...{ timestamp: 6, device_id: 'laptop', encrypted_data: 'AQID', data_hash: 'cd34', base: 7 },
  }
  const held = { ...versionOf(id, ''), operation: 'delete' as const, data_hash: null, bookmark: null, base: 3 }
  const conflict = { id, fields: ['title'], mine: bookmarkOf(id, 'lost'), theirs: bookmarkOf(id, 'title') }
  const waiting = [{ change, bookmark: bookmarkOf(id, 'edited'), sent: true }]
  return { ...rowOf(id), waiting, held, conflicts: [conflict] }
}

export function sorted<Stored extends { rows: Row[] }>(stored: Stored): Stored {
  return { ...stored, rows: [...stored.rows].sort((one, other) => (one.id < other.id ? -1 : 1)) }
}
