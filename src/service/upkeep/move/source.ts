import { existsSync } from 'node:fs'
import { Kysely, SqliteDialect, sql } from 'kysely'
import type { Logger } from 'pino'
import { openForReading } from '../../backup/database-id.ts'
import { sqliteFile } from '../../config/storage.ts'
import { ConfigError } from '../../config/values.ts'
import type { Trx } from '../../db/engine/database.ts'
import { lockDatabase } from '../../db/engine/sqlite/open.ts'
import { isWhollyKnown, schemaState, tooOld } from '../../db/migrate.ts'
import type { Schema } from '../../db/schema.ts'
import { listTables, requireNoInstance, type Side } from './rows.ts'

/** How long to wait for the tables (ms): autovacuum gives way after a second. */
const lockMs = 10_000

/** Runs `work` on a database that no service uses and nobody changes meanwhile. Does not write to it. */
export async function withSource<T>(url: string, log: Logger, work: (source: Side) => Promise<T>): Promise<T> {
  const file = sqliteFile(url)
  return file === undefined ? withServer(url, log, work) : withFile(file, work)
}

async function withFile<T>(path: string, work: (source: Side) => Promise<T>): Promise<T> {
  if (!existsSync(path)) throw new ConfigError(`DATABASE_URL: there is no database in ${path}`)
  const lock = await lockDatabase(path)
  try {
    const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: await openForReading(path) }) })
    try {
      return await db.transaction().execute(async (trx) => {
        await requireCurrent(trx)
        return work({ trx, isServer: false })
      })
    } finally {
      await db.destroy()
    }
  } finally {
    lock.close()
  }
}

/** Locks the tables against writes before the transaction takes its snapshot. */
async function withServer<T>(url: string, log: Logger, work: (source: Side) => Promise<T>): Promise<T> {
  const { openPostgres } = await import('../../db/engine/postgres/open.ts')
  const database = openPostgres(url, log)
  try {
    return await database.maintain(async (db) => {
      const tables = await db.transaction().execute(async (trx) => {
        await requireCurrent(trx)
        return listTables(trx)
      })
      const snapshot = db.transaction().setIsolationLevel('repeatable read')
      return snapshot.execute(async (trx) => {
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
        await sql`set local lock_timeout = ${sql.lit(lockMs)}`.execute(trx)
        await sql`lock table ${sql.join(tables.map(({ name }) => sql.table(name)))} in share mode`.execute(trx)
        await requireNoInstance(trx, 'DATABASE_URL: the database')
        return work({ trx, isServer: true })
      })
    })
  } finally {
    await database.close()
  }
}

async function requireCurrent(trx: Trx): Promise<void> {
  const state = await schemaState(trx)
  if (state === 'none') throw new ConfigError('DATABASE_URL: the database does not belong to this service')
  if (state === 'before 3') throw new ConfigError(`DATABASE_URL: the database ${tooOld}`)
  if (state === 'current' && (await isWhollyKnown(trx))) return
  throw new ConfigError(
    'DATABASE_URL: another version has used the database; start that version once, or use its command',
  )
}
