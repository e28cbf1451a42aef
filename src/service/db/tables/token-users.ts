import { sql } from 'kysely'
import type { Database, Db } from '../engine/database.ts'

/** Few enough that a request for one of the tokens waits for some milliseconds. */
const tokensAtOnce = 1000

type Parts = Pick<Database, 'db' | 'write' | 'maintain' | 'isServer'>

/**
 * Gives the tokens of an older version their users, while other instances serve requests. If it is interrupted, the next
 * start goes on.
 */
export async function nameUsersOfTokens(parts: Parts): Promise<void> {
  if (await isDone(parts)) return
  for await (const [after, last] of pagesOfTokens(parts.db)) {
    await parts.write(async (trx) => {
      await sql`update tokens set user_id = logins.user_id from logins
        where logins.id = tokens.login_id and tokens.user_id is null and hash > ${after} and hash <= ${last}`.execute(
        trx,
      )
    })
  }
  // Reads the whole table, and holds nobody up meanwhile.
  if (parts.isServer) await parts.maintain((db) => sql`alter table tokens validate constraint tokens_user`.execute(db))
}

/** An older version that one goes back to adds such tokens again: on Postgres a trigger names their users. */
async function isDone({ db, isServer }: Parts): Promise<boolean> {
  const missing = isServer
    ? sql`select 1 from pg_constraint
        where conrelid = 'tokens'::regclass and conname = 'tokens_user' and not convalidated`
    : sql`select 1 from tokens where user_id is null limit 1`
  return (await missing.execute(db)).rows.length === 0
}

async function* pagesOfTokens(db: Db): AsyncGenerator<[string, string]> {
  for (let after = ''; ; ) {
    const { rows } = await sql<{ last: string | null }>`select max(hash) as last from
      (select hash from tokens where hash > ${after} order by hash limit ${tokensAtOnce}) as page`.execute(db)
    const last = rows[0]?.last
    if (!last) return
    yield [after, last]
    after = last
  }
}
