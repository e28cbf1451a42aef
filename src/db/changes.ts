import { sql } from 'kysely'
import type { Db } from './database.ts'
import { type EntityKey, type Row, records } from './rows.ts'
import { columnsOf } from './upsert.ts'

export interface PageLimits {
  rows: number
  /** Of ciphertext; the page ends with the change that reaches this limit. */
  bytes: number
}

/**
 * The changes after `since` in order of sequence numbers, up to the limits. Sizes are added up before any ciphertext is
 * read; deleted records come without theirs.
 */
export async function listChangePage(
  db: Db,
  userId: string,
  since: number,
  { rows, bytes }: PageLimits,
): Promise<Row[]> {
  const changes = db
    .selectFrom('records')
    .select(['stamp', sql<number>`coalesce(octet_length(${live}), 0)`.as('size')])
    .where('user_id', '=', userId)
    .where('stamp', '>', since)
    .orderBy('stamp')
    .limit(rows)
  const sums = db
    .selectFrom(changes.as('changes'))
    .select(['stamp', sql<number>`sum(size) over (order by stamp) - size`.as('before')])
  const end = db
    .selectFrom(sums.as('sums'))
    .select(({ fn }) => fn.max('stamp').as('end'))
    .where('before', '<', bytes)
  return db
    .selectFrom('records')
    .select(columnsOf(records).filter((column) => column !== 'encrypted_data'))
    .select(live.as('encrypted_data'))
    .where('user_id', '=', userId)
    .where('stamp', '>', since)
    .where('stamp', '<=', end)
    .orderBy('stamp')
    .execute()
}

const live = sql<string | null>`case when deleted_at is null then encrypted_data end`

/** An entity's newest change, even if the entity is deleted. */
export async function findChange(
  db: Db,
  userId: string,
  { entity_type, entity_id }: EntityKey,
): Promise<Row | undefined> {
  return db
    .selectFrom('records')
    .selectAll()
    .where('user_id', '=', userId)
    .where('entity_type', '=', entity_type)
    .where('entity_id', '=', entity_id)
    .executeTakeFirst()
}
