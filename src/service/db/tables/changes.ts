import { sql } from 'kysely'
import type { Db } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'
import { ciphertextOf } from './ciphertexts.ts'
import type { EntityKey, RecordRow } from './records.ts'

/** An entity's newest change, as devices get it. */
export type ChangeRow = Pick<RecordRow, (typeof changeColumns)[number] | 'encrypted_data'>

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
] as const satisfies (keyof RecordRow)[]

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

/** The newest changes after `since`, at most `max`. */
export async function listNewestChanges(
  db: Db,
  userId: string,
  since: number,
  max: number,
): Promise<Pick<RecordRow, 'stamp' | 'device_id'>[]> {
  return db
    .selectFrom('records')
    .select(['stamp', 'device_id'])
    .where('user_id', '=', userId)
    .where('stamp', '>', since)
    .orderBy('stamp', 'desc')
    .limit(max)
    .execute()
}

/**
 * The number of changes after `since` that other devices made, counted up to `max`. Goes from device to device, so that
 * neither a device's own changes nor those before `since` are looked at, however many there are. With more than `max`
 * devices, it is `max`.
 */
export async function countChanges(
  db: Db,
  userId: string,
  since: number,
  deviceId: string,
  max: number,
): Promise<number> {
  const { count } = await changesOfOthers.one(db, { userId, since, deviceId, max })
  return Math.min(max, Number(count))
}

interface Counted {
  userId: string
  since: number
  deviceId: string
  max: number
}

const changesOfOthers = query(
  (_, { userId, since, deviceId, max }: Placeholders<Counted>) => sql<{ count: number }>`
    with recursive walk (device_id, devices, counted) as (
      select (select min(device_id) from records where user_id = ${userId}), 0, cast(0 as bigint)
      union all
      select
        (select min(device_id) from records where user_id = ${userId} and device_id > walk.device_id),
        devices + 1,
        counted + (
          select count(*) from (
            select 1 from records
            where user_id = ${userId} and device_id = walk.device_id and walk.device_id <> ${deviceId} and stamp > ${since}
            limit ${max}
          ) as changes
        )
      from walk where walk.device_id is not null and devices <= ${max} and counted < ${max}
    )
    select case when max(devices) > ${max} then ${max} else max(counted) end as count from walk`,
)
