import { inParts } from '../../thread/loop.ts'
import type { Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query, rowsOfStatement } from '../engine/query.ts'
import type { RecordsTable } from '../schema.ts'
import { removeRejections } from './conflicts.ts'
import { addUp, type Erased, nothingErased, purge } from './erased-versions.ts'

/** A deleted record, by what is kept of it beside its row. */
export interface Tombstone
  extends Pick<RecordsTable, 'entity_type' | 'entity_id' | 'stamp' | 'bytes' | 'data_stamp' | 'versions'> {}

/**
 * Of the user's next records after that sequence number, those that are deleted, and the number up to which these are all;
 * undefined if there is no record.
 */
export async function tombstonesAfter(
  trx: Trx,
  userId: string,
  after: number,
  rows: number,
): Promise<{ tombstones: Tombstone[]; upTo: number } | undefined> {
  const found: (Tombstone & Pick<RecordsTable, 'deleted_at'>)[] = await nextRecords.all(trx, { userId, after, rows })
  const last = found.at(-1)
  return last && { tombstones: found.filter(({ deleted_at }) => deleted_at !== null), upTo: last.stamp }
}

const nextRecords = query(
  (db, { userId, after, rows }: Placeholders<{ userId: string; after: number; rows: number }>) =>
    db
      .selectFrom('records')
      .select(['entity_type', 'entity_id', 'stamp', 'bytes', 'data_stamp', 'versions', 'deleted_at'])
      .where('user_id', '=', userId)
      .where('stamp', '>', after)
      .orderBy('stamp')
      .limit(rows),
)

/** Forgets deleted records, with all that is kept of them. */
export async function eraseTombstones(trx: Trx, userId: string, tombstones: Tombstone[]): Promise<Erased> {
  let erased = nothingErased
  for (const tombstone of tombstones)
    if (tombstone.versions > 0 || tombstone.data_stamp !== null)
      erased = addUp(erased, await purge(trx, userId, tombstone, tombstone))
  await removeRejections(trx, userId, tombstones)
  const stamps = tombstones.map(({ stamp }) => stamp)
  await inParts(stamps, rowsOfStatement, (part) => erasedRows.run(trx, { userId, stamps: part }))
  return erased
}

const erasedRows = query((db, { userId, stamps }: Placeholders<{ userId: string; stamps: number[] }>) =>
  db
    .deleteFrom('records')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'stamp', stamps, 'bigint'))
    .where('deleted_at', 'is not', null),
)
