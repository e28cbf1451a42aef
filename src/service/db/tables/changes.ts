import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'
import { ciphertextOf } from './ciphertexts.ts'
import { type EntityKey, isOf, isOfTypes, type RecordRow } from './records.ts'

/** An entity's last change, with the columns that devices need. */
export type ChangeRow = Pick<RecordRow, (typeof changeColumns)[number] | 'encrypted_data'>

const changeColumns = [
  'user_id',
  'entity_type',
  'entity_id',
  'data_hash',
  'sequence',
  'event_id',
  'operation',
  'timestamp',
  'device_id',
  'resolution_strategy',
  'overwritten',
  'recovered',
] as const satisfies (keyof RecordRow)[]

export interface PageLimits {
  rows: number
  /** Bytes of ciphertext. The page ends with the change that reaches this limit. */
  bytes: number
}

/** The most of a part of a long response. While the client does not read, only one part is in memory. */
export const partLimits: PageLimits = { rows: 500, bytes: 512 * 1024 }

/**
 * The changes after `since` and up to `last`, ordered by sequence number, up to the limits. If `types` is given (a
 * `typeList`), only those of these types. Deleted records come without ciphertext.
 */
export async function listChangePage(
  db: Db,
  userId: string,
  since: number,
  { rows, bytes }: PageLimits,
  last = Number.MAX_SAFE_INTEGER,
  types?: string,
): Promise<ChangeRow[]> {
  const page = { userId, since, rows, bytes, last }
  return types === undefined ? changePage.all(db, page) : changePageOfTypes.all(db, { ...page, types })
}

interface Page extends PageLimits {
  userId: string
  since: number
  last: number
}

const changePage = query((db, page: Placeholders<Page>) => pageOf(db, page, sql<boolean>`true`))

const changePageOfTypes = query((db, page: Placeholders<Page & { types: string }>) =>
  pageOf(db, page, isOfTypes(page.types)),
)

function pageOf(db: Db, { userId, since, rows, bytes, last }: Placeholders<Page>, isWanted: RawBuilder<boolean>) {
  const changes = db
    .selectFrom('records')
    .select(['sequence', sql<number>`case when deleted_at is null then bytes else 0 end`.as('size')])
    .where('user_id', '=', userId)
    .where('sequence', '>', since)
    .where('sequence', '<=', last)
    .where(isWanted)
    .orderBy('sequence')
    .limit(rows)
  const sums = db
    .selectFrom(changes.as('changes'))
    .select(['sequence', sql<number>`sum(size) over (order by sequence) - size`.as('before')])
  const reached = db
    .selectFrom(sums.as('sums'))
    .select(({ fn }) => fn.max('sequence').as('end'))
    .where('before', '<', bytes)
  // Most pages are below the limit of bytes. With this check first, such a query takes a quarter of the time.
  const end = db
    .selectFrom(changes.as('changes'))
    .select(sql<number>`case when sum(size) < ${bytes} then max(sequence) else (${reached}) end`.as('end'))
  return db
    .selectFrom('records')
    .select(changeColumns)
    .select(ciphertextOf(userId))
    .where('user_id', '=', userId)
    .where('sequence', '>', since)
    .where('sequence', '<=', end)
    .where(isWanted)
    .orderBy('sequence')
}

/** The sequence number of the `rows`-th change after `since`; undefined if fewer changes follow up to `last`. */
export const { first: findAhead } = query((db, { userId, since, last, rows }: Placeholders<Omit<Page, 'bytes'>>) =>
  db
    .selectFrom('records')
    .select('sequence')
    .where('user_id', '=', userId)
    .where('sequence', '>', since)
    .where('sequence', '<=', last)
    .orderBy('sequence')
    .limit(sql.lit(1))
    .offset(sql<number>`${rows} - 1`),
)

/** An entity's last change, even if the entity is deleted. */
export const { first: findChange } = query((db, key: Placeholders<EntityKey & { userId: string }>) =>
  db.selectFrom('records').select(changeColumns).select(ciphertextOf(key.userId)).where(isOf(key)),
)

type ChangeOrigin = Pick<RecordRow, 'sequence' | 'device_id'>

/** The newest changes after `since`, at most `max`, newest first. */
export async function listNewestChanges(db: Db, userId: string, since: number, max: number): Promise<ChangeOrigin[]> {
  const found: ChangeOrigin[] = []
  for (let isMore = true; isMore; ) {
    if (found.length > 0) await eventLoopTurn()
    const rows = Math.min(partLimits.rows, max - found.length)
    const before = found.at(-1)?.sequence ?? Number.MAX_SAFE_INTEGER
    const part: ChangeOrigin[] = await newest.all(db, { userId, since, before, rows })
    found.push(...part)
    isMore = part.length === rows && found.length < max
  }
  return found
}

interface Newest {
  userId: string
  since: number
  before: number
  rows: number
}

const newest = query((db, { userId, since, before, rows }: Placeholders<Newest>) =>
  db
    .selectFrom('records')
    .select(['sequence', 'device_id'])
    .where('user_id', '=', userId)
    .where('sequence', '>', since)
    .where('sequence', '<', before)
    .orderBy('sequence', 'desc')
    .limit(rows),
)

/** Counts the changes after `since` by other devices and of these types, among the newest `max`. */
export async function countChanges(
  db: Db,
  userId: string,
  since: number,
  deviceId: string,
  types: string,
  max: number,
): Promise<number> {
  let [count, left] = [0, max]
  for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null && left > 0; ) {
    if (left < max) await eventLoopTurn()
    const rows = Math.min(countedAtOnce, left)
    const page: Counted = await counted.one(db, { userId, since, before, deviceId, types, rows })
    count += page.others
    left -= rows
    before = page.rows < rows ? null : page.lowest
  }
  return count
}

/** Rows per query, so that it takes only a few milliseconds. */
const countedAtOnce = 2000

interface Counted {
  rows: number
  others: number
  lowest: number | null
}

const counted = query(
  (
    _,
    { userId, since, before, deviceId, types, rows }: Placeholders<Newest & { deviceId: string; types: string }>,
  ) => sql<Counted>`
    select count(*) as rows, count(*) filter (where device_id <> ${deviceId} and ${isOfTypes(types)}) as others,
      min(sequence) as lowest from (
      select sequence, device_id, entity_type from records where user_id = ${userId} and sequence > ${since} and sequence < ${before}
      order by sequence desc limit ${rows}
    ) as page`,
)
