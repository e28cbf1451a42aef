import { sql } from 'kysely'
import type { Database, Db } from '../db/engine/database.ts'
import { faultOf } from '../db/engine/probe.ts'
import { type AccountSummary, listAccounts } from '../db/tables/users.ts'
import { pagesOfUser, tablesOfUser } from './rows-of-user.ts'

export interface Checked {
  user: AccountSummary
  /** The tables in which the user has unreadable rows, with the error codes. */
  damaged: [table: string, code: string][]
}

/** Reads the rows of `tablesOfUser`. Yields each user with the damaged tables. Leaves a table at its first error. */
export async function* checkUsers({ db }: Pick<Database, 'db'>): AsyncGenerator<Checked> {
  const columns = new Map((await db.introspection.getTables()).map(({ name, columns }) => [name, columns]))
  for await (const user of listAccounts(db)) {
    const damaged: Checked['damaged'] = []
    for (const table of Object.keys(tablesOfUser)) {
      const names = (columns.get(table) ?? []).map(({ name }) => name)
      const code = await codeOfDamage(() => readAll(db, table, names, user.id))
      if (code !== undefined) damaged.push([table, code])
    }
    yield { user, damaged }
  }
}

async function codeOfDamage(read: () => Promise<void>): Promise<string | undefined> {
  try {
    await read()
    return undefined
  } catch (error) {
    if (faultOf(error) !== 'damaged') throw error
    return (error as NodeJS.ErrnoException).code
  }
}

/** Reads all of the user's rows in a table. To find a text's length, the database has to read the whole text. */
async function readAll(db: Db, table: string, names: string[], userId: string): Promise<void> {
  const lengths = names.map((name, index) => sql`length(cast(${sql.ref(name)} as text)) as ${sql.ref(`l${index}`)}`)
  const pages = pagesOfUser(db, table, userId, sql.join(lengths))
  for (let page = await pages.next(); !page.done; ) page = await pages.next()
}

/** SQLite's own findings about the whole file, at most 100. */
export async function checkFile({ db }: Pick<Database, 'db'>): Promise<string[]> {
  let lines: string[] = []
  const code = await codeOfDamage(async () => {
    const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check(100)`.execute(db)
    lines = rows.map(({ integrity_check }) => integrity_check).filter((line) => line !== 'ok')
  })
  return code === undefined ? lines : [`cannot be checked further (${code})`]
}
