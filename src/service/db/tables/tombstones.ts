import { inParts } from '../../thread/loop.ts'
import type { Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query, rowsOfStatement } from '../engine/query.ts'
import type { RecordsTable } from '../schema.ts'
import { removeRejections } from './conflicts.ts'
import { isEmptyTombstone, recordsAfter } from './records.ts'

type Tombstone = Pick<RecordsTable, 'entity_type' | 'entity_id' | 'stamp'>

/**
 * Of the user's next records after that sequence number, those that are deleted and of which nothing is kept, and the number up
 * to which these are all; undefined if there is no record.
 */
export async function emptyTombstonesAfter(
  trx: Trx,
  userId: string,
  after: number,
  rows: number,
): Promise<{ tombstones: Tombstone[]; upTo: number } | undefined> {
  const found = await nextRecords.all(trx, { userId, after, rows })
  const last = found.at(-1)
  return last && { tombstones: found.filter(isEmptyTombstone), upTo: last.stamp }
}

const nextRecords = recordsAfter(['entity_type', 'entity_id', 'stamp', 'deleted_at', 'data_stamp', 'versions'])

export async function forgetTombstones(trx: Trx, userId: string, tombstones: Tombstone[]): Promise<void> {
  await removeRejections(trx, userId, tombstones)
  const stamps = tombstones.map(({ stamp }) => stamp)
  await inParts(stamps, rowsOfStatement, (part) => forgotten.run(trx, { userId, stamps: part }))
}

const forgotten = query((db, { userId, stamps }: Placeholders<{ userId: string; stamps: number[] }>) =>
  db
    .deleteFrom('records')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'stamp', stamps, 'bigint'))
    .where('deleted_at', 'is not', null),
)
