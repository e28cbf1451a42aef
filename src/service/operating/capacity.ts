import type { StatsFs } from 'node:fs'
import { statfs } from 'node:fs/promises'
import type { FastifyBaseLogger } from 'fastify'
import { sql } from 'kysely'
import type { Config } from '../config/config.ts'
import type { Database } from '../db/engine/database.ts'
import { countIncomplete } from '../db/tables/exports.ts'
import { pagesOfStored } from '../db/tables/users.ts'
import { usedBytes } from '../sync/usage.ts'
import { byLabel, type Family, gauge } from './metrics.ts'

/** The figures that an operator plans by: how much is stored, by how many, what waits, and how much room is left. */

const exportsEveryMs = 5_000
/** All users are looked at. */
const storedEveryMs = 5 * 60_000
const answerWithinMs = 1_000

export interface CapacityParts {
  config: Pick<Config, 'dataDir' | 'backup'>
  database: Pick<Database, 'db' | 'isServer'>
  clock: () => number
  log: FastifyBaseLogger
}

export function capacityFamilies(parts: CapacityParts): Family[] {
  const { config, database, log } = parts
  const orTell = (fault: string) => (err: unknown) => log.warn({ err }, fault)
  const countExports = askRarely(parts, exportsEveryMs, () =>
    countIncomplete(database.db).catch(orTell('exports could not be counted')),
  )
  const measureStored = askRarely(parts, storedEveryMs, () =>
    measure(database).catch(orTell('what is stored could not be measured')),
  )
  const ofStored = (name: string, help: string, figure: keyof Stored) =>
    gauge(name, help, async () => {
      const stored = await measureStored()
      return stored ? [[{}, stored[figure]]] : []
    })
  const { dir, inBucket, everyMs } = config.backup
  const folders = { data: config.dataDir, ...(everyMs !== undefined && !inBucket && { backups: dir }) }
  return [
    gauge(
      'ebs_exports',
      'Exports that are not completed, by status; read from the database, so the same on all instances',
      async () => byLabel('status', (await countExports()) ?? {}),
    ),
    ofStored('ebs_users', 'Users, read from the database every 5 minutes', 'users'),
    ofStored('ebs_stored_bytes', 'What all users store, as the quota counts it, read every 5 minutes', 'bytes'),
    ofStored('ebs_database_bytes', 'The size of the database, without its log, read every 5 minutes', 'databaseBytes'),
    gauge('ebs_disk_free_bytes', 'What the service may still write to the disk of the folder', () =>
      roomOf(folders, ({ bsize, bavail }) => bsize * bavail),
    ),
    gauge('ebs_disk_bytes', 'The size of the disk of the folder', () =>
      roomOf(folders, ({ bsize, blocks }) => bsize * blocks),
    ),
  ]
}

/** Asks again after so long, and gives each caller an answer within a second: undefined if there is none yet. */
function askRarely<T>({ clock }: CapacityParts, everyMs: number, ask: () => Promise<T>): () => Promise<T | undefined> {
  let askedAt = Number.NEGATIVE_INFINITY
  let answer: Promise<T>
  return () => {
    const now = clock()
    if (Math.abs(now - askedAt) >= everyMs) {
      askedAt = now
      answer = ask()
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), answerWithinMs)
      answer.then(resolve).finally(() => clearTimeout(timer))
    })
  }
}

interface Stored {
  users: number
  bytes: number
  databaseBytes: number
}

async function measure({ db, isServer }: CapacityParts['database']): Promise<Stored> {
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

/** A folder that is not there yet has no figure. */
async function roomOf(folders: Record<string, string>, figure: (disk: StatsFs) => number) {
  const found = Object.entries(folders).map(async ([name, dir]) => {
    const disk = await statfs(dir).catch(() => undefined)
    return disk ? [[name, figure(disk)] as const] : []
  })
  return byLabel('folder', Object.fromEntries((await Promise.all(found)).flat()))
}
