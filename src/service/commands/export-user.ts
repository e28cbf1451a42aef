import { once } from 'node:events'
import { sql } from 'kysely'
import type { CommandDatabase } from '../db/for-command.ts'
import { pagesOfUser, tablesOfUser } from '../upkeep/rows-of-user.ts'
import { requireAccount } from './accounts.ts'

/** Prints a line for each row about a person, for requests under data protection law. */
export async function exportUser({ db }: Pick<CommandDatabase, 'db'>, id: string): Promise<void> {
  await requireAccount(db, id)
  const user = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  await printRow('users', user)
  for (const table of Object.keys(tablesOfUser))
    for await (const page of pagesOfUser(db, table, id, sql`${sql.table(table)}.*`))
      for (const row of page) await printRow(table, row)
}

async function printRow(table: string, row: Record<string, unknown>): Promise<void> {
  const entries = Object.entries(row).filter(([column]) => !isSecret(table, column))
  if (!process.stdout.write(`${JSON.stringify({ table, ...Object.fromEntries(entries) })}\n`))
    await once(process.stdout, 'drain')
}

/** True for columns that are left out: the file must not let anyone act as the person, or open sealed values. */
function isSecret(table: string, column: string): boolean {
  return column.endsWith('_sealed') || (table === 'tokens' && column === 'hash')
}
