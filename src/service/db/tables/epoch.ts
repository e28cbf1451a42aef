import { type RawBuilder, sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Database, Trx } from '../engine/database.ts'
import { pages } from '../engine/query.ts'

/** More than any clock is wrong by. */
const raisedBy = 86_400_000
/** However many there are, no write holds the database for long. */
const usersAtOnce = 1000

/** As part of a query: sequence numbers are read together with the epoch that they belong to. */
export const currentEpoch = sql<string>`coalesce(users.own_epoch, (select id from epoch))`.as('epoch')

/** A copy that `npm run backup` has made becomes a history of its own with its first start. */
export async function beginEpochOfCopy(database: Pick<Database, 'db' | 'write'>): Promise<void> {
  const { restored } = await database.db.selectFrom('epoch').select('restored').executeTakeFirstOrThrow()
  if (restored) await beginEpoch(database)
}

/**
 * The database went back in time, so that sequence numbers of lost changes could be given again. From now on they are
 * greater than all of those, and devices learn from the new epoch that they may know more than the service.
 *
 * The new epoch comes last: if this is interrupted, it is done again as a whole. Returns the epoch.
 *
 * @param now the time of the service (Unix ms): of two recoveries of one backup, the second must not give the numbers of the
 *   first again
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

/** Makes an account that came back from a backup have a history of its own, while everybody else's goes on. */
export async function beginOwnEpoch(trx: Trx, userId: string, now: number): Promise<void> {
  const set = { last_sequence: raisedSequence(now), own_epoch: uuidv7() }
  await trx.updateTable('users').set(set).where('id', '=', userId).execute()
}

function raisedSequence(now: number): RawBuilder<number> {
  return sql<number>`case when last_sequence > ${now} then last_sequence else ${now} end + ${raisedBy}`
}
