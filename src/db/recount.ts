import { sql } from 'kysely'
import type { Database, Db, Trx } from './database.ts'

const usersAtOnce = 1000
const counters = ['live_bookmarks', 'stored_bytes', 'stored_records'] as const

type Counters = Record<(typeof counters)[number], number>

export interface Mended {
  userId: string
  was: Counters
  is: Counters
}

/**
 * Counts anew what each user stores, while the service runs. Yields each user, with the counters that were wrong and have been
 * mended, if any. Each has a transaction of their own, which holds up nobody else's writes.
 */
export async function* recount({ db, write }: Pick<Database, 'db' | 'write'>): AsyncGenerator<Mended | undefined> {
  for await (const id of idsOfUsers(db)) yield await write((trx) => recountUser(trx, id), id)
}

async function* idsOfUsers(db: Db): AsyncGenerator<string> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const users = db.selectFrom('users').select('id').where('id', '>', after).orderBy('id').limit(usersAtOnce)
    const page: { id: string }[] = await users.execute()
    for (const { id } of page) yield id
    after = page.at(-1)?.id
  }
}

async function recountUser(trx: Trx, userId: string): Promise<Mended | undefined> {
  // Holds the row first, so that what is counted next is all that there is. A user may be gone by now.
  const held = trx.updateTable('users').set({ last_stamp: sql`last_stamp` }).where('id', '=', userId)
  const was = await held.returning(counters).executeTakeFirst()
  if (!was) return undefined
  const is = await count(trx, userId)
  if (counters.every((name) => was[name] === is[name])) return undefined
  await trx.updateTable('users').set(is).where('id', '=', userId).execute()
  return { userId, was, is }
}

async function count(trx: Trx, userId: string): Promise<Counters> {
  const { rows } = await sql<Counters>`
    select count(*) filter (where deleted_at is null and entity_type = 'bookmark') as live_bookmarks,
      cast(coalesce(sum(bytes), 0) as bigint) as stored_bytes, count(*) as stored_records
    from records where user_id = ${userId}`.execute(trx)
  const [{ live_bookmarks, stored_bytes, stored_records } = { live_bookmarks: 0, stored_bytes: 0, stored_records: 0 }] =
    rows
  return { live_bookmarks, stored_bytes, stored_records }
}
