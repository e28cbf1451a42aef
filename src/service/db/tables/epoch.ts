import { type RawBuilder, sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Database, Trx } from '../engine/database.ts'
import { pages } from '../engine/query.ts'

/** How far (ms) sequence numbers, which follow the clock, are raised: no clock should be a day wrong. */
const raisedBy = 86_400_000
/** Users per write, so that others' writes do not wait long. */
const usersAtOnce = 1000

/** A subquery for the epoch, because sequence numbers must be read together with it. */
export const currentEpoch = sql<string>`coalesce(users.own_epoch, (select id from epoch))`.as('epoch')

/** The first start on a copy made by `ebs backup` begins a new epoch. */
export async function beginEpochOfCopy(database: Pick<Database, 'db' | 'write'>): Promise<void> {
  const { restored } = await database.db.selectFrom('epoch').select('restored').executeTakeFirstOrThrow()
  if (restored) await beginEpoch(database)
}

/**
 * Begins a new epoch after the database went back in time. Raises sequence numbers, so that those of lost changes are
 * not given again. The epoch tells devices that they may know more than the service. It is written last, so that an
 * interrupted call is repeated as a whole. Returns the epoch.
 *
 * @param now the service's time (Unix ms). Numbers start above it, so two recoveries of one backup give different ones
 */
export async function beginEpoch({ db, write }: Pick<Database, 'db' | 'write'>, now = Date.now()): Promise<string> {
  const users = db.selectFrom('users').select('id').orderBy('id').limit(usersAtOnce)
  for await (const page of pages<{ id: string }>((last) => users.where('id', '>', last?.id ?? '').execute())) {
    await write(async (trx) => {
      await trx
        .updateTable('users')
        .set({ last_sequence: raisedSequence(now), own_epoch: null })
        .where('id', '>=', page[0]?.id ?? '')
        .where('id', '<=', page.at(-1)?.id ?? '')
        .execute()
    })
  }
  const id = uuidv7()
  await write(async (trx) => {
    await trx.updateTable('epoch').set({ id, restored: 0 }).execute()
  })
  return id
}

/** Gives an account that was recovered from a backup its own epoch. All others keep theirs. */
export async function beginOwnEpoch(trx: Trx, userId: string, now: number): Promise<void> {
  const set = { last_sequence: raisedSequence(now), own_epoch: uuidv7() }
  await trx.updateTable('users').set(set).where('id', '=', userId).execute()
}

function raisedSequence(now: number): RawBuilder<number> {
  return sql<number>`case when last_sequence > ${now} then last_sequence else ${now} end + ${raisedBy}`
}
