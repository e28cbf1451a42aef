import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'
import type { PageLimits } from './changes.ts'
import { bytesOf } from './ciphertexts.ts'
import type { RecordRow } from './records.ts'

export type TrashRow = Pick<RecordRow, 'entity_id' | 'data_hash' | 'created_at' | 'updated_at'> & {
  deleted_at: number
  encrypted_data: string
  /** The sequence number and time of the deletion, and how far (ms) the clock was behind then. */
  sequence: number
  stored_at: number
  behind: number
}

interface Page extends PageLimits {
  userId: string
  before: number
}

/**
 * Deleted bookmarks that still have ciphertext, deleted before the sequence number `before`, the last first. If several
 * versions have a bookmark's ciphertext, the last one gives the deletion.
 */
export async function listTrash(db: Db, { userId, before, rows, bytes }: Page): Promise<TrashRow[]> {
  const found: TrashRow[] = []
  let bytesLeft = bytes
  for (let end: number | null = before; end !== null && found.length < rows && bytesLeft > 0; ) {
    if (end !== before) await eventLoopTurn()
    // Also reads deletions of bookmarks that were restored since. The quota limits their number.
    const start: number | null = (await startOfDeleted.one(db, { userId, before: end, rows: deletedAtOnce })).start
    const limits = { rows: rows - found.length, bytes: bytesLeft }
    const part = await trash.all(db, { userId, before: end, start: start ?? 0, ...limits })
    found.push(...part)
    bytesLeft -= bytesOf(part)
    end = start
  }
  return found
}

/** Rows per query, so that it takes only a few milliseconds. */
const deletedAtOnce = 250

/** The sequence number of the deletion that is `rows` deletions further back; null if there are fewer. */
const startOfDeleted = query(
  (_, { userId, before, rows }: Placeholders<{ userId: string; before: number; rows: number }>) => sql<{
    start: number | null
  }>`
    select (
      select sequence from versions where user_id = ${userId} and was_deleted = 1 and sequence < ${before}
      order by sequence desc limit 1 offset ${rows}
    ) as start`,
)

const trash = query((db, { userId, before, start, rows, bytes }: Placeholders<Page & { start: number }>) => {
  const page = db
    .selectFrom('versions')
    .innerJoin('records', (join) =>
      join
        .on('records.user_id', '=', userId)
        .onRef('records.entity_type', '=', 'versions.entity_type')
        .onRef('records.entity_id', '=', 'versions.entity_id')
        .onRef('records.data_sequence', '=', 'versions.data_sequence')
        .on('records.deleted_at', 'is not', null),
    )
    .select(['records.entity_id', 'records.data_hash', 'created_at', 'updated_at', 'deleted_at'])
    .select(['versions.sequence', 'versions.stored_at', 'behind', 'records.data_sequence', 'records.bytes'])
    .where('versions.user_id', '=', userId)
    .where('versions.entity_type', '=', sql.lit('bookmark'))
    .where('was_deleted', '=', sql.lit(1))
    .where('versions.sequence', '<', before)
    .where('versions.sequence', '>=', start)
    .where(isLastOfItsData(userId))
    .orderBy('versions.sequence', 'desc')
    .limit(rows)
  const sums = db
    .selectFrom(page.as('page'))
    .selectAll()
    .select(sql<number>`sum(bytes) over (order by sequence desc) - bytes`.as('before'))
  return db
    .selectFrom(sums.as('page'))
    .innerJoin('ciphertexts', (join) =>
      join.on('ciphertexts.user_id', '=', userId).onRef('ciphertexts.sequence', '=', 'page.data_sequence'),
    )
    .select([
      'entity_id',
      'data_hash',
      'created_at',
      'updated_at',
      'deleted_at',
      'page.sequence',
      'stored_at',
      'behind',
      'encrypted_data',
    ])
    .where('before', '<', bytes)
    .orderBy('page.sequence', 'desc')
    .$castTo<TrashRow>()
})

/**
 * True for the last version with this ciphertext: a bookmark that was restored and deleted again has two. The plus sign
 * keeps SQLite from scanning all later versions.
 */
function isLastOfItsData(userId: RawBuilder<string>) {
  return sql<boolean>`not exists (
    select 1 from versions as later
    where later.user_id = ${userId} and later.data_sequence = versions.data_sequence and +later.sequence > versions.sequence
  )`
}
