import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import type { LoginKey } from '../db/tables/logins.ts'
import { saveUse } from '../db/tables/logins.ts'

const hourMs = 3_600_000
/** At worst, so much of what was noted is lost with the process. */
const writeEveryMs = 30_000
/** Takes some 10 MiB. Beyond it, a login may be written more than once in an hour, which changes nothing. */
const maxNoted = 100_000
/** Few, so that they leave the database to users. */
const writesAtOnce = 4

/** In which hour each login was last used. */
export interface SessionUses {
  /** Only remembers it: what a request waits for stays the same. */
  note(login: LoginKey): void
  close(): Promise<void>
}

interface Parts {
  database: Pick<Database, 'write'>
  clock: () => number
  log: FastifyBaseLogger
}

/** Writes the first use of a login in each hour, some time after the request. */
export function followUses({ database, clock, log }: Parts): SessionUses {
  const noted = new Set<string>()
  const unwritten = new Map<string, { login: LoginKey; hour: number }>()
  let hour = 0
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    while (unwritten.size > 0) {
      const batch = [...unwritten].slice(0, writesAtOnce)
      // One row each: a transaction that held several could wait for one that ends them.
      await Promise.all(batch.map(([, { login, hour }]) => database.write((trx) => saveUse(trx, login, hour))))
      for (const [loginId, use] of batch) if (unwritten.get(loginId) === use) unwritten.delete(loginId)
    }
  }

  const timer = setInterval(() => {
    writing ??= write()
      .catch((err) => log.warn({ err }, 'when sessions were used could not be stored, retrying'))
      .finally(() => {
        writing = undefined
      })
  }, writeEveryMs).unref()

  return {
    note({ userId, loginId }) {
      const now = hourOf(clock())
      if (now !== hour || noted.size >= maxNoted) noted.clear()
      hour = now
      if (noted.has(loginId)) return
      noted.add(loginId)
      unwritten.set(loginId, { login: { userId, loginId }, hour })
    },
    async close() {
      clearInterval(timer)
      unwritten.clear()
      await writing
    },
  }
}

/** When the hour of a time began. */
export function hourOf(time: number): number {
  return time - (time % hourMs)
}
