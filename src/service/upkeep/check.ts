import { sql } from 'kysely'
import type { Database, Db } from '../db/engine/database.ts'
import { attemptRead, type ReadResult } from '../db/engine/probe.ts'
import { findDeletion } from '../db/tables/deletions.ts'
import { pagesOfUserIds } from '../db/tables/users.ts'
import { pagesOfUser, tablesOfUser } from './rows-of-user.ts'

export interface Checked {
  userId: string
  /** Undefined if it cannot be read. */
  email: string | undefined
  /** The tables in which the user has unreadable rows, with the error codes. */
  damaged: [table: string, code: string][]
}

/** Reads all rows of the users that are not deleted. Yields each with the damaged tables. Leaves a table at its first error. */
export async function* checkUsers({ db }: Pick<Database, 'db'>): AsyncGenerator<Checked> {
  const columns = new Map((await db.introspection.getTables()).map(({ name, columns }) => [name, columns]))
  for await (const ids of pagesOfUserIds(db)) {
    for (const userId of ids) {
      const deletion = await attemptRead(() => findDeletion(db, userId))
      if (deletion.value) continue
      const user = await attemptRead(() =>
        db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst(),
      )
      const attempts: [table: string, ReadResult<unknown>][] = [
        ['deletions', deletion],
        ['users', user],
      ]
      for (const table of Object.keys(tablesOfUser)) {
        const names = (columns.get(table) ?? []).map(({ name }) => name)
        attempts.push([table, await attemptRead(() => readAll(db, table, names, userId))])
      }
      const damaged = attempts.flatMap(([table, { damage }]): Checked['damaged'] =>
        damage ? [[table, damage.code]] : [],
      )
      yield { userId, email: user.value?.email, damaged }
    }
  }
}

/** Reads all of the user's rows in a table. To find a text's length, the database has to read the whole text. */
async function readAll(db: Db, table: string, names: string[], userId: string): Promise<void> {
  const lengths = names.map((name, index) => sql`length(cast(${sql.ref(name)} as text)) as ${sql.ref(`l${index}`)}`)
  const pages = pagesOfUser(db, table, userId, sql.join(lengths))
  for (let page = await pages.next(); !page.done; ) page = await pages.next()
}

/** SQLite's own findings about the whole file, at most 100, and the tables with rows of users or logins that are gone. */
export async function checkFile({ db }: Pick<Database, 'db'>): Promise<string[]> {
  const { value: rows = [], damage } = await attemptRead(
    async () => (await sql<{ integrity_check: string }>`pragma integrity_check(100)`.execute(db)).rows,
  )
  if (damage) return [`cannot be checked further (${damage.code})`]
  const faults = rows.map(({ integrity_check }) => integrity_check).filter((line) => line !== 'ok')
  if (faults.length > 0) return faults
  const { rows: orphans } = await sql<{ table: string; parent: string }>`
    select distinct "table", parent from pragma_foreign_key_check`.execute(db)
  return orphans.map(({ table, parent }) => `${table} refers to ${parent} that are gone`)
}
