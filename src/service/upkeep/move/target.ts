import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Kysely, SqliteDialect, sql } from 'kysely'
import type { Logger } from 'pino'
import { openForReading } from '../../backup/database-id.ts'
import { syncPath } from '../../config/folders.ts'
import { sqliteFile } from '../../config/storage.ts'
import type { Trx } from '../../db/engine/database.ts'
import { lockDatabase } from '../../db/engine/sqlite/open.ts'
import { schemaState } from '../../db/migrate.ts'
import type { Schema } from '../../db/schema.ts'
import { listTables, requireNoInstance, type Side } from './rows.ts'

interface Work {
  /** Fills an empty database. */
  fill(target: Side): Promise<void>
  /** Examines a database that is not empty: an earlier call may have filled it. */
  verify(target: Side): Promise<void>
}

/** Runs the work so that after an interruption, the database is either still empty or complete. */
export async function withTarget(url: string, log: Logger, work: Work): Promise<void> {
  const file = sqliteFile(url)
  await (file === undefined ? withServer(url, log, work) : withFile(resolve(file), work))
}

async function withServer(url: string, log: Logger, { fill, verify }: Work): Promise<void> {
  const { openPostgres } = await import('../../db/engine/postgres/open.ts')
  const database = openPostgres(url, log)
  try {
    await database.maintain((db) =>
      db.transaction().execute(async (trx) => {
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(trx)
        // Takes the lock of migrations: an instance that starts now waits for this call, which itself waits for the end
        // of an interrupted one.
        await sql`select pg_advisory_xact_lock(hashtext('migrations'))`.execute(trx)
        const target = { trx, isServer: true }
        await requireNoInstance(trx, 'the database to move to')
        if (!(await isUnused(trx))) return verify(target)
        const made = await listTables(trx)
        if (made.length > 0) await sql`drop table ${sql.join(made.map(({ name }) => sql.table(name)))}`.execute(trx)
        await fill(target)
        // Otherwise, Postgres would plan queries for empty tables until its next automatic analysis.
        await sql`analyze`.execute(trx)
      }),
    )
  } finally {
    await database.close()
  }
}

/** True if the database is empty, or has this version's schema and no user, as after a first start. */
async function isUnused(trx: Trx): Promise<boolean> {
  if ((await listTables(trx)).length === 0) return true
  if ((await schemaState(trx)) !== 'current') return false
  return (await trx.selectFrom('users').select('id').limit(1).executeTakeFirst()) === undefined
}

/** The file gets its name once it is complete and on disk. */
async function withFile(path: string, { fill, verify }: Work): Promise<void> {
  const lock = await lockDatabase(path)
  const unfinished = `${path}.moving`
  try {
    const isThere = existsSync(path) || existsSync(`${path}-wal`)
    const isFree = !isThere || (await inTransaction(await openForReading(path), ({ trx }) => isUnused(trx)))
    // SQLite would apply a leftover log to the new file.
    if (!isFree || existsSync(`${path}-wal`)) return await inTransaction(await openForReading(path), verify)
    await rm(unfinished, { force: true })
    const sqlite = new Sqlite(unfinished)
    // Not durable, because an incomplete file is never used.
    sqlite.pragma('journal_mode = OFF')
    sqlite.pragma('synchronous = OFF')
    await inTransaction(sqlite, fill)
    await syncPath(unfinished)
    await rename(unfinished, path)
    await syncPath(dirname(path))
  } finally {
    await rm(unfinished, { force: true })
    lock.close()
  }
}

async function inTransaction<T>(database: Sqlite.Database, work: (side: Side) => Promise<T>): Promise<T> {
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database }) })
  try {
    return await db.transaction().execute((trx) => work({ trx, isServer: false }))
  } finally {
    await db.destroy()
  }
}
