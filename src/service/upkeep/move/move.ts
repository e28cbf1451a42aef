import { sql } from 'kysely'
import type { Logger } from 'pino'
import { sqliteFile } from '../../config/storage.ts'
import { ConfigError } from '../../config/values.ts'
import { leadsTo } from '../../db/engine/postgres/lock.ts'
import { makeEmptySchema, schemaState } from '../../db/migrate.ts'
import type { Report } from '../../terminal/progress.ts'
import {
  addRows,
  emptySum,
  insertRows,
  isSameSum,
  listTables,
  readRows,
  type Side,
  type Sum,
  type TableOf,
} from './rows.ts'
import { withSource } from './source.ts'
import { withTarget } from './target.ts'

/** The number of rows of each table. */
export type RowCounts = Record<string, number>

/**
 * Copies a database into an empty one and verifies every row. Sessions, cursors and the epoch stay the same. If an
 * earlier call has copied everything, only verifies.
 */
export async function moveDatabase(from: string, to: string, log: Logger, report: Report): Promise<RowCounts> {
  const moved: RowCounts = {}
  await withSource(from, log, async (source) => {
    if (source.isServer && sqliteFile(to) === undefined && (await leadsTo(to, source.trx)))
      throw new ConfigError('the database to move to is the one that DATABASE_URL names')
    await withTarget(to, log, {
      async fill(target) {
        await makeEmptySchema(target.trx, target.isServer)
        for (const table of await listTables(target.trx)) {
          const { rows } = await copy(source, target, table, report)
          moved[table.name] = rows
        }
      },
      async verify(target) {
        if (!(await isCopy(source, target))) throw notEmpty()
        for (const table of await listTables(target.trx)) {
          const sum = await sumOf(source, table, report)
          if (!isSameSum(sum, await sumOf(target, table, report))) throw notEmpty()
          moved[table.name] = sum.rows
        }
      },
    })
  })
  return moved
}

async function copy(source: Side, target: Side, table: TableOf, report: Report): Promise<Sum> {
  // A new database has some initial rows.
  await sql`delete from ${sql.table(table.name)}`.execute(target.trx)
  const sum = emptySum()
  for await (const rows of readRows(source, table)) {
    await insertRows(target, table, rows)
    addRows(sum, table, rows)
    report(`copying ${table.name}`, sum.rows)
  }
  if (isSameSum(sum, await sumOf(target, table, report))) return sum
  throw new Error(`${table.name}: what was written is not what was read; nothing was moved`)
}

async function sumOf(side: Side, table: TableOf, report: Report): Promise<Sum> {
  const sum = emptySum()
  for await (const rows of readRows(side, table)) {
    addRows(sum, table, rows)
    report(`comparing ${table.name}`, sum.rows)
  }
  return sum
}

/** True if the target has this version's schema and the same epoch as the source. */
async function isCopy(source: Side, target: Side): Promise<boolean> {
  if ((await schemaState(target.trx)) !== 'current') return false
  const [one, other] = await Promise.all([source, target].map(epochOf))
  return one === other
}

async function epochOf({ trx }: Side): Promise<string> {
  return (await trx.selectFrom('epoch').select('id').executeTakeFirstOrThrow()).id
}

function notEmpty(): ConfigError {
  return new ConfigError('the database to move to is not empty: name another one, or move an old file elsewhere')
}
