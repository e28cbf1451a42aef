import type { Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query } from '../engine/query.ts'
import type { RecordsTable } from '../schema.ts'
import { isEmptyTombstone, recordsAfter } from './records.ts'

type Tombstone = Pick<RecordsTable, 'entity_type' | 'entity_id' | 'sequence'>

/**
 * Reads the user's next records after a sequence number. Returns the empty tombstones among them, and the number up to
 * which it has read; undefined if there are no more records.
 */
export async function emptyTombstonesAfter(
  trx: Trx,
  userId: string,
  after: number,
  rows: number,
): Promise<{ tombstones: Tombstone[]; upTo: number } | undefined> {
  const found = await nextRecords.all(trx, { userId, after, rows })
  const last = found.at(-1)
  return last && { tombstones: found.filter(isEmptyTombstone), upTo: last.sequence }
}

const nextRecords = recordsAfter(['entity_type', 'entity_id', 'sequence', 'deleted_at', 'data_sequence', 'versions'])

export async function forgetTombstones(trx: Trx, userId: string, tombstones: Tombstone[]): Promise<void> {
  const sequences = tombstones.map(({ sequence }) => sequence)
  if (sequences.length > 0) await forgotten.run(trx, { userId, sequences })
}

const forgotten = query((db, { userId, sequences }: Placeholders<{ userId: string; sequences: number[] }>) =>
  db
    .deleteFrom('records')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'sequence', sequences, 'bigint'))
    .where('deleted_at', 'is not', null),
)
