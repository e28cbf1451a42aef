import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/engine/database.ts'
import { keysOfRows } from '../db/tables/deletions.ts'

/** The tables with a user's rows, except `users` and `deletions`, and the columns that identify a row of the user. */
export const tablesOfUser: Record<string, string[]> = {
  ...keysOfRows,
  identities: ['issuer', 'subject'],
  logins: ['id'],
  tokens: ['hash'],
  exports: ['id'],
}

/** Rows per statement: at worst 50 MiB of ciphertext. */
const rowsAtOnce = 200

/** Reads `selected` and the keys of all of a user's rows in a table. */
export async function* pagesOfUser<Row extends Record<string, unknown>>(
  db: Db,
  table: string,
  userId: string,
  selected: RawBuilder<unknown>,
): AsyncGenerator<Row[]> {
  const names = tablesOfUser[table] ?? []
  const keys = sql.join(names.map((key) => sql.ref(key)))
  for (let after: unknown[] | undefined = []; after !== undefined; ) {
    const rest: unknown = after.length > 0 ? sql`and (${keys}) > (${sql.join(after)})` : sql``
    const { rows }: { rows: Row[] } = await sql<Row>`
      select ${keys}, ${selected} from ${sql.table(table)}
      where user_id = ${userId} ${rest} order by ${keys} limit ${rowsAtOnce}`.execute(db)
    yield rows
    const last = rows.length < rowsAtOnce ? undefined : rows.at(-1)
    after = last && names.map((key) => last[key])
  }
}
