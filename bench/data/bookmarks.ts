import { ciphertextLength } from '../worker/records.ts'
import type { Data } from './database.ts'

const ciphertext = 'x'.repeat(ciphertextLength)
const hash = 'h'.repeat(64)
const perStatement = 100_000
/** Before the first one's sequence number, which is the time when it was made. */
export const firstStamp = 1_700_000_000_000

/** Gives each of the users that many bookmarks, as if they had been pushed. */
export async function addBookmarks(data: Data, users: string[], count: number): Promise<void> {
  const owners = users.map((user) => `SELECT '${user}' AS id`).join(' UNION ALL ')
  for (let from = 1; from <= count; from += perStatement) {
    const to = Math.min(count, from + perStatement - 1)
    const series = `WITH RECURSIVE series(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM series WHERE n < ${to}),
      owners AS (${owners})`
    await data.run(`INSERT INTO records (user_id, entity_type, entity_id, data_hash, created_at, updated_at, stamp,
      event_id, operation, timestamp, device_id, conflict_resolved, bytes, data_stamp)
      ${series} SELECT id, 'bookmark', ${idOf('n')}, '${hash}', ${firstStamp} + n, ${firstStamp} + n, ${firstStamp} + n,
      ${idOf('n')}, 'create', ${firstStamp} + n, 'laptop', 0, ${ciphertext.length}, ${firstStamp} + n FROM owners, series`)
    await data.run(`INSERT INTO ciphertexts (user_id, stamp, encrypted_data)
      ${series} SELECT id, ${firstStamp} + n, '${ciphertext}' FROM owners, series`)
  }
  const quoted = users.map((user) => `'${user}'`)
  await data.run(`UPDATE users SET last_stamp = ${firstStamp} + ${count}, live_bookmarks = ${count}, stored_records = ${count},
    stored_bytes = ${count * ciphertext.length} WHERE id IN (${quoted})`)
}

/** The id of the user's nth bookmark, counted from 1. */
export function bookmarkId(n: number): string {
  return `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`
}

function idOf(n: string): string {
  return `'01900000-0000-7000-8000-' || substr(CAST(1000000000000 + ${n} AS text), 2)`
}
