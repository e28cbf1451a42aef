import { sql } from 'kysely'
import type { Database, Db } from '../db/engine/database.ts'
import { faultOf } from '../db/engine/probe.ts'
import { keysOfRows } from '../db/tables/deletions.ts'
import { type AccountSummary, listAccounts } from '../db/tables/users.ts'

/**
 * Rows of a user that one statement reads: at worst some hundred MiB pass through the database's cache, and none of
 * them come here.
 */
const rowsAtOnce = 500
const tables: Record<string, string[]> = { ...keysOfRows, logins: ['id'], exports: ['id'] }

export interface Checked {
  user: AccountSummary
  /** The tables in which the user has rows that cannot be read, each with the error's code. */
  damaged: [table: string, code: string][]
}

/**
 * Reads all that each user has stored, and tells whose rows are damaged. Of a table, it ends at the first: what comes after
 * it is damaged, or is not.
 */
export async function* checkUsers({ db }: Pick<Database, 'db'>): AsyncGenerator<Checked> {
  const columns = new Map((await db.introspection.getTables()).map(({ name, columns }) => [name, columns]))
  for await (const user of listAccounts(db)) {
    const damaged: Checked['damaged'] = []
    for (const [table, keys] of Object.entries(tables)) {
      const names = (columns.get(table) ?? []).map(({ name }) => name)
      const code = await codeOfDamage(() => readAll(db, { table, keys, names, userId: user.id }))
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

/** The length of a text is known only once all of it is read. */
async function readAll(db: Db, of: { table: string; keys: string[]; names: string[]; userId: string }): Promise<void> {
  const keys = sql.join(of.keys.map((key) => sql.ref(key)))
  const lengths = of.names.map((name, index) => sql`length(cast(${sql.ref(name)} as text)) as ${sql.ref(`l${index}`)}`)
  for (let after: unknown[] | undefined = []; after !== undefined; ) {
    const rest: unknown = after.length > 0 ? sql`and (${keys}) > (${sql.join(after)})` : sql``
    const { rows }: { rows: Record<string, unknown>[] } = await sql<Record<string, unknown>>`
      select ${keys}, ${sql.join(lengths)} from ${sql.table(of.table)}
      where user_id = ${of.userId} ${rest} order by ${keys} limit ${rowsAtOnce}`.execute(db)
    const last = rows.length < rowsAtOnce ? undefined : rows.at(-1)
    after = last && of.keys.map((key) => last[key])
  }
}

/** SQLite's findings in the file as a whole, in its own words. Postgres has no such check. */
export async function checkFile({ db }: Pick<Database, 'db'>): Promise<string[]> {
  let lines: string[] = []
  const code = await codeOfDamage(async () => {
    const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check(100)`.execute(db)
    lines = rows.map(({ integrity_check }) => integrity_check).filter((line) => line !== 'ok')
  })
  return code === undefined ? lines : [`cannot be checked further (${code})`]
}
