import { sql } from 'kysely'
import type { Db } from './database.ts'
import { ciphertext, type EntityKey, type Row } from './rows.ts'

export interface PageLimits {
  rows: number
  /** Of ciphertext; the page ends with the change that reaches this limit. */
  bytes: number
}

/** A response is read and sent in parts of this size: what one that nobody reads can hold. */
export const partLimits: PageLimits = { rows: 500, bytes: 512 * 1024 }

/**
 * The changes after `since` and up to `last` in order of sequence numbers, up to the limits. Deleted records come without
 * ciphertext.
 */
export async function listChangePage(
  db: Db,
  userId: string,
  since: number,
  { rows, bytes }: PageLimits,
  last = Number.MAX_SAFE_INTEGER,
): Promise<Row[]> {
  const changes = db
    .selectFrom('records')
    .select(['stamp', sql<number>`case when deleted_at is null then bytes else 0 end`.as('size')])
    .where('user_id', '=', userId)
    .where('stamp', '>', since)
    .where('stamp', '<=', last)
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
    .selectAll()
    .select(ciphertext)
    .where('user_id', '=', userId)
    .where('stamp', '>', since)
    .where('stamp', '<=', end)
    .orderBy('stamp')
    .execute()
}

/** An entity's newest change, even if the entity is deleted. */
export async function findChange(
  db: Db,
  userId: string,
  { entity_type, entity_id }: EntityKey,
): Promise<Row | undefined> {
  return db
    .selectFrom('records')
    .selectAll()
    .select(ciphertext)
    .where('user_id', '=', userId)
    .where('entity_type', '=', entity_type)
    .where('entity_id', '=', entity_id)
    .executeTakeFirst()
}
