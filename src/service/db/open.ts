import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { sql } from 'kysely'
import { sqliteFile } from '../config/storage.ts'
import { ConfigError } from '../config/values.ts'
import type { Database } from './engine/database.ts'
import type { PostgresOptions } from './engine/postgres/open.ts'
import { type Faults, isLoginRefused, watchFaults } from './engine/probe.ts'
import { historyIn, migrate, requireUsable } from './migrate.ts'
import { beginEpochOfCopy } from './tables/epoch.ts'
import { requireWholeSchema } from './whole.ts'

const retryMs = 1000

interface ServerOptions extends PostgresOptions {
  /** How long to retry while the server is unreachable or still starting. */
  waitMs?: number
}

/** Opens and migrates the database, begins a copy's new epoch. Loads only its driver. The options are for Postgres. */
export async function openDatabase(
  url: string,
  log: FastifyBaseLogger,
  { waitMs = 0, directUrl = url, ...server }: ServerOptions = {},
): Promise<Database & { faults: Faults }> {
  const file = sqliteFile(url)
  const database =
    file === undefined
      ? (await import('./engine/postgres/open.ts')).openPostgres(url, log, { ...server, directUrl })
      : await (await import('./engine/sqlite/open.ts')).openSqlite(file, (sqlite) => requireUsable(historyIn(sqlite)))
  try {
    await whenAvailable(database, log, database.isServer ? waitMs : 0, async () => {
      if (directUrl !== url) await requireSameDatabase(database, directUrl)
      await migrate(database)
      await requireWholeSchema(database)
      await beginEpochOfCopy(database)
    })
  } catch (error) {
    await database.close()
    if (error instanceof ConfigError) throw error
    const { message } = error as Error
    const hint = message.includes('unsupported startup parameter') ? ': for a pooler, set PULSE_DATABASE_URL, too' : ''
    throw new ConfigError(`DATABASE_URL: the database cannot be used (${message})${hint}`, { cause: error })
  }
  return watchFaults(database, log)
}

/** Checks that both URLs lead to one database. Otherwise commands would change another one and report success. */
async function requireSameDatabase({ db, isUnavailable }: Database, directUrl: string): Promise<void> {
  const { leadsTo } = await import('./engine/postgres/lock.ts')
  // Tries DATABASE_URL first, so that the errors below are about the other URL.
  await sql`select`.execute(db)
  const isSame = await leadsTo(directUrl, db).catch((cause) => {
    // No reason to wait: what needs this URL (notifications, sweeps, a migration) reports that its server is down.
    if (isUnavailable(cause) && !isLoginRefused(cause)) return true
    throw new ConfigError(`PULSE_DATABASE_URL: the database cannot be used (${cause.message})`, { cause })
  })
  if (!isSame) throw new ConfigError('PULSE_DATABASE_URL: this is another database than that of DATABASE_URL')
}

/** Repeats `work` for up to `waitMs` while the database is unavailable, unless it refuses the password. */
async function whenAvailable(
  { isUnavailable }: Database,
  log: FastifyBaseLogger,
  waitMs: number,
  work: () => Promise<void>,
): Promise<void> {
  for (const until = performance.now() + waitMs; ; await sleep(retryMs)) {
    try {
      return await work()
    } catch (err) {
      const { cause = err } = err as Error
      if (!isUnavailable(cause) || isLoginRefused(cause) || performance.now() > until) throw err
      log.warn({ err }, 'waiting for the database')
    }
  }
}
