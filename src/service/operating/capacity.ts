import type { StatsFs } from 'node:fs'
import { statfs } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import { sql } from 'kysely'
import type { Config } from '../config/config.ts'
import type { Database } from '../db/engine/database.ts'
import { countIncomplete } from '../db/tables/exports.ts'
import { pagesOfStored } from '../db/tables/users.ts'
import { usedBytes } from '../sync/usage.ts'

const exportsEveryMs = 5_000
/** A measurement reads all users, so it is cached for this time (ms). */
const storedEveryMs = 5 * 60_000
const answerWithinMs = 1_000

export interface CapacityParts {
  config: Pick<Config, 'dataDir' | 'backup'>
  database: Pick<Database, 'db' | 'isServer'>
  clock: () => number
  log: FastifyBaseLogger
}

/** Measures the numbers that an operator plans with: users, their storage, waiting exports and free space. */
export function createCapacity({ config, database, clock, log }: CapacityParts) {
  const orWarn = (fault: string) => (err: unknown) => log.warn({ err }, fault)
  const { dir, inBucket, everyMs } = config.backup
  const folders = { data: config.dataDir, ...(everyMs !== undefined && !inBucket && { backups: dir }) }
  return {
    /** Incomplete exports by status. */
    exports: cached(clock, exportsEveryMs, () =>
      countIncomplete(database.db).catch(orWarn('exports could not be counted')),
    ),
    stored: cached(clock, storedEveryMs, () =>
      measureStored(database).catch(orWarn('what is stored could not be measured')),
    ),
    freeBytes: () => measureDisks(folders, ({ bsize, bavail }) => bsize * bavail),
    diskBytes: () => measureDisks(folders, ({ bsize, blocks }) => bsize * blocks),
  }
}

/** Measures at most once in `everyMs`. Resolves to undefined after a second, so that no scrape hangs. */
function cached<T>(clock: () => number, everyMs: number, measure: () => Promise<T>): () => Promise<T | undefined> {
  let measuredAt = Number.NEGATIVE_INFINITY
  let result: Promise<T>
  return () => {
    const now = clock()
    if (Math.abs(now - measuredAt) >= everyMs) {
      measuredAt = now
      result = measure()
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), answerWithinMs)
      result.then(resolve).finally(() => clearTimeout(timer))
    })
  }
}

async function measureStored({ db, isServer }: CapacityParts['database']) {
  const size = isServer
    ? sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`
    : sql<{ bytes: number }>`select page_count * page_size as bytes from pragma_page_count, pragma_page_size`
  const { rows } = await size.execute(db)
  let [users, bytes] = [0, 0]
  for await (const page of pagesOfStored(db)) {
    users += page.length
    for (const stored of page) bytes += usedBytes(stored)
  }
  return { users, bytes, databaseBytes: Number(rows[0]?.bytes) }
}

/** Skips folders that do not exist yet. */
async function measureDisks(folders: Record<string, string>, figure: (disk: StatsFs) => number) {
  const found = Object.entries(folders).map(async ([name, dir]) => {
    const disk = await statfs(dir).catch(() => undefined)
    return disk ? [[name, figure(disk)] as const] : []
  })
  return Object.fromEntries((await Promise.all(found)).flat())
}
