import { sql } from 'kysely'
import { pause } from '../../thread/loop.ts'
import type { Db } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'
import { ciphertextOf } from './ciphertexts.ts'
import { type EntityKey, isOf, type RecordRow } from './records.ts'

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
export const { first: findChange } = query((db, key: Placeholders<EntityKey & { userId: string }>) =>
  db.selectFrom('records').select(changeColumns).select(ciphertextOf(key.userId)).where(isOf(key)),
)

type Made = Pick<RecordRow, 'stamp' | 'device_id'>

/** The newest changes after `since`, at most `max`, newest first. */
export async function listNewestChanges(db: Db, userId: string, since: number, max: number): Promise<Made[]> {
  const found: Made[] = []
  for (let isMore = true; isMore; ) {
    await pause()
    const rows = Math.min(partLimits.rows, max - found.length)
    const before = found.at(-1)?.stamp ?? Number.MAX_SAFE_INTEGER
    const part: Made[] = await newest.all(db, { userId, since, before, rows })
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
    .select(['stamp', 'device_id'])
    .where('user_id', '=', userId)
    .where('stamp', '>', since)
    .where('stamp', '<', before)
    .orderBy('stamp', 'desc')
    .limit(rows),
)

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
  let [count, devices] = [0, 0]
  for (let after: string | null = ''; after !== null && count < max && devices <= max; ) {
    await pause()
    const left: number = max - count
    const atOnce = Math.min(devicesAtOnce, max + 1 - devices)
    const step: Step = await changesOfOthers.one(db, { userId, since, deviceId, after, left, atOnce })
    count += Number(step.count)
    devices += Number(step.devices)
    after = step.last
  }
  return devices > max ? max : Math.min(max, count)
}

/** Some milliseconds. */
const devicesAtOnce = 400

interface Step {
  count: number
  devices: number
  /** The last device that was looked at; null if it was the last of all. */
  last: string | null
}

interface Counted {
  userId: string
  since: number
  deviceId: string
  after: string
  left: number
  atOnce: number
}

const changesOfOthers = query(
  (_, { userId, since, deviceId, after, left, atOnce }: Placeholders<Counted>) => sql<Step>`
    with recursive walk (device_id, devices, counted) as (
      select (select min(device_id) from records where user_id = ${userId} and device_id > ${after}), 0, cast(0 as bigint)
      union all
      select
        (select min(device_id) from records where user_id = ${userId} and device_id > walk.device_id),
        devices + 1,
        counted + (
          select count(*) from (
            select 1 from records
            where user_id = ${userId} and device_id = walk.device_id and walk.device_id <> ${deviceId} and stamp > ${since}
            limit ${left}
          ) as changes
        )
      from walk where walk.device_id is not null and devices < ${atOnce} and counted < ${left}
    )
    select counted as count, devices, case when last.device_id is null then null else last.looked_at end as last
    from (
      select device_id, counted, lag(device_id) over (order by devices) as looked_at, devices from walk
    ) as last order by devices desc limit 1`,
)
