import type { FastifyBaseLogger } from 'fastify'
import { type RawBuilder, sql } from 'kysely'
import type { Database, Db } from './database.ts'

/** Why the database cannot store or return something: a full or failing disk, or damaged data. */
export type Fault = 'full' | 'failing' | 'damaged'

/** The error codes of SQLite, of Node's file functions, and of Postgres (SQLSTATE). */
const codes: Record<Fault, RegExp> = {
  full: /^(SQLITE_FULL|ENOSPC$|EDQUOT$|53100)/,
  failing: /^(SQLITE_IOERR|EIO$|58030)/,
  damaged: /^(SQLITE_(CORRUPT|NOTADB)|XX00[12])/,
}
const texts: Record<Fault, string> = {
  full: "the database's disk is full: reads go on, writes get 503",
  failing: "the database's disk fails: requests that need what it does not give get 503",
  damaged: 'a part of the database is damaged: requests that need it get 503; `admin check` names whose it is',
}
const rememberedMs = 60_000

export interface Faults {
  /** The number of errors of each kind since the start. */
  counts(): Record<Fault, number>
  /** The faults of the last minute. */
  recent(): Fault[]
}

/**
 * Logs and counts disk faults of requests and of the probe. The probe may not notice a fault, because its row is small
 * and on its own page. While the database answers, a fault does not fail the probe: other instances have it, too.
 */
export function watchFaults<T extends Pick<Database, 'isUnavailable' | 'probe' | 'db' | 'now'>>(
  database: T,
  log: FastifyBaseLogger,
): T & { faults: Faults } {
  const counts = { full: 0, failing: 0, damaged: 0 }
  const lastAt = new Map<Fault, number>()
  /** The errors already counted, because callers may pass an error more than once. */
  const noted = new WeakSet<Error>()
  const isRecent = (fault: Fault) => performance.now() - (lastAt.get(fault) ?? Number.NEGATIVE_INFINITY) < rememberedMs

  function note(error: unknown): boolean {
    const fault = faultOf(error)
    if (fault === undefined || noted.has(error as Error)) return fault !== undefined
    noted.add(error as Error)
    if (!isRecent(fault)) log.error({ err: error }, texts[fault])
    counts[fault]++
    lastAt.set(fault, performance.now())
    return true
  }

  return {
    ...database,
    faults: { counts: () => ({ ...counts }), recent: () => (Object.keys(counts) as Fault[]).filter(isRecent) },
    isUnavailable(error) {
      note(error)
      return database.isUnavailable(error)
    },
    async probe() {
      try {
        return await database.probe()
      } catch (error) {
        if (!note(error)) throw error
        const { rows } = await sql<{ at: number }>`select ${database.now} as at`.execute(database.db)
        return Number(rows[0]?.at)
      }
    },
  }
}

/** The disk fault behind an error; undefined if there is none. */
export function faultOf(error: unknown): Fault | undefined {
  if (!(error instanceof Error)) return undefined
  const { code = '' } = error as NodeJS.ErrnoException
  return (Object.keys(codes) as Fault[]).find((fault) => codes[fault].test(code))
}

/** True if Postgres refuses the user or the password. */
export function isLoginRefused(error: unknown): boolean {
  return /^28/.test((error as { code?: string }).code ?? '')
}

/** A read value, or the error if the read met damaged data. */
export interface ReadResult<T> {
  value?: T
  damage?: Error & { code: string }
}

/** Reads what may be damaged. Other errors are thrown. */
export async function attemptRead<T>(read: () => T | Promise<T>): Promise<ReadResult<T>> {
  try {
    return { value: await read() }
  } catch (error) {
    if (faultOf(error) !== 'damaged') throw error
    return { damage: error as Error & { code: string } }
  }
}

/** Writes the heartbeat. Resolves to the database's time (Unix ms). */
export async function writeHeartbeat(db: Db, now: RawBuilder<number>): Promise<number> {
  const { probed_at } = await db
    .updateTable('heartbeat')
    .set({ probed_at: now })
    .returning('probed_at')
    .executeTakeFirstOrThrow()
  return Number(probed_at)
}
