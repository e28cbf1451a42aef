import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Database, Db } from '../engine/database.ts'

/** More than any clock is wrong by. */
const raisedBy = 86_400_000
const usersAtOnce = 1000

/** As part of a query: sequence numbers are read together with the epoch that they belong to. */
export const currentEpoch = sql<string>`(select id from epoch)`.as('epoch')

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
  for await (const [first, last] of pagesOfUsers(db)) {
    await write(async (trx) => {
      await trx
        .updateTable('users')
        .set({ last_stamp: sql`case when last_stamp > ${now} then last_stamp else ${now} end + ${raisedBy}` })
        .where('id', '>=', first)
        .where('id', '<=', last)
        .execute()
    })
  }
  const id = uuidv7()
  await write(async (trx) => {
    await trx.updateTable('epoch').set({ id, restored: 0 }).execute()
  })
  return id
}

/** The first and the last id of each page: however many users there are, no write holds the database for long. */
async function* pagesOfUsers(db: Db): AsyncGenerator<[string, string]> {
  for (let after = ''; ; ) {
    const page = await db
      .selectFrom('users')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(usersAtOnce)
      .execute()
    const [first, last] = [page.at(0), page.at(-1)]
    if (!first || !last) return
    yield [first.id, last.id]
    after = last.id
  }
}
