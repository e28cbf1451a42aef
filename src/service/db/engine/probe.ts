import type { FastifyBaseLogger } from 'fastify'
import { type RawBuilder, sql } from 'kysely'
import type { Database, Db } from './database.ts'

/** Reasons that keep the database from storing or returning something: a disk that is full or fails, or returns something else than was written. */
export type Fault = 'full' | 'failing' | 'damaged'

/** Recognizes the codes of SQLite and of Node's sync, and the SQLSTATEs of Postgres. */
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
  /** How many errors of each kind there were since the start. */
  counts(): Record<Fault, number>
  /** The faults of the last minute. */
  recent(): Fault[]
}

/**
 * Notes such errors of requests, and of the probe, which may meet none, because its row is small and on a page of its own.
 * The probe does not fail for them as long as the database answers: every other instance would meet the same.
 */
export function watchFaults<T extends Pick<Database, 'isUnavailable' | 'probe' | 'db' | 'now'>>(
  database: T,
  log: FastifyBaseLogger,
): T & { faults: Faults } {
  const counts = { full: 0, failing: 0, damaged: 0 }
  const lastAt = new Map<Fault, number>()
  /** An error may be asked about more than once. */
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

/** Undefined if the error says nothing about the disk. */
export function faultOf(error: unknown): Fault | undefined {
  if (!(error instanceof Error)) return undefined
  const { code = '' } = error as NodeJS.ErrnoException
  return (Object.keys(codes) as Fault[]).find((fault) => codes[fault].test(code))
}

/** Writes, and resolves to the database's time (Unix ms). */
export async function beat(db: Db, now: RawBuilder<number>): Promise<number> {
  const { probed_at } = await db
    .updateTable('heartbeat')
    .set({ probed_at: now })
    .returning('probed_at')
    .executeTakeFirstOrThrow()
  return Number(probed_at)
}
