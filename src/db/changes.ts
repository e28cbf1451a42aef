import { sql } from 'kysely'
import type { Db } from './database.ts'
import { type Placeholders, query } from './query.ts'
import { ciphertextOf, type EntityKey, type Row } from './rows.ts'

/** An entity's newest change, as devices get it. */
export type ChangeRow = Pick<Row, (typeof changeColumns)[number] | 'encrypted_data'>

const changeColumns = [
  'user_id',
  'entity_type',
  'entity_id',
  'data_hash',
  'stamp',
  'event_id',
  'operation',
  'timestamp',
  'device_id',
  'conflict_resolved',
  'resolution_strategy',
  'overwritten',
] as const satisfies (keyof Row)[]

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
): Promise<ChangeRow[]> {
  return changePage.all(db, { userId, since, rows, bytes, last })
}

interface Page extends PageLimits {
  userId: string
  since: number
  last: number
}

const changePage = query((db, { userId, since, rows, bytes, last }: Placeholders<Page>) => {
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
  const reached = db
    .selectFrom(sums.as('sums'))
    .select(({ fn }) => fn.max('stamp').as('end'))
    .where('before', '<', bytes)
  // Most pages are within the limit as a whole, which takes a quarter of the time to see.
  const end = db
    .selectFrom(changes.as('changes'))
    .select(sql<number>`case when sum(size) < ${bytes} then max(stamp) else (${reached}) end`.as('end'))
  return db
    .selectFrom('records')
    .select(changeColumns)
    .select(ciphertextOf(userId))
    .where('user_id', '=', userId)
    .where('stamp', '>', since)
    .where('stamp', '<=', end)
    .orderBy('stamp')
})

/** An entity's newest change, even if the entity is deleted. */
export async function findChange(
  db: Db,
  userId: string,
  { entity_type, entity_id }: EntityKey,
): Promise<ChangeRow | undefined> {
  return change.first(db, { userId, entity_type, entity_id })
}

const change = query((db, { userId, entity_type, entity_id }: Placeholders<EntityKey & { userId: string }>) =>
  db
    .selectFrom('records')
    .select(changeColumns)
    .select(ciphertextOf(userId))
    .where('user_id', '=', userId)
    .where('entity_type', '=', entity_type)
    .where('entity_id', '=', entity_id),
)
