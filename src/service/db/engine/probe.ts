import type { RawBuilder } from 'kysely'
import type { Database, Db } from './database.ts'

/**
 * A disk that is full, fails, or returns something else than was written: the codes of SQLite and of Node's sync, and the SQLSTATEs of Postgres.
 * The probe may not notice, because its row is small and on a page of its own.
 */
const trouble = /^(SQLITE_(FULL|IOERR|CORRUPT|NOTADB)|E(IO|NOSPC|DQUOT)$|53100|58030|XX00[12])/
const rememberedMs = 60_000

/** Lets the probe fail for a minute after each such error of a request: load balancers ask for nothing else. */
export function rememberTrouble<T extends Pick<Database, 'isUnavailable' | 'probe'>>(database: T): T {
  let last: { error: Error; at: number } | undefined
  return {
    ...database,
    isUnavailable(error) {
      if (error instanceof Error && trouble.test((error as NodeJS.ErrnoException).code ?? '')) {
        last = { error, at: performance.now() }
      }
      return database.isUnavailable(error)
    },
    async probe() {
      if (last && performance.now() - last.at < rememberedMs) throw last.error
      return database.probe()
    },
  }
}

/** Resolves to the database's time (Unix ms). */
export async function beat(db: Db, now: RawBuilder<number>): Promise<number> {
  const { at } = await db.updateTable('heartbeat').set({ at: now }).returning('at').executeTakeFirstOrThrow()
  return at
}
