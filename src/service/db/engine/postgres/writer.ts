import type { Kysely } from 'kysely'
import { Slots } from '../../../load/slots.ts'
import type { Schema } from '../../schema.ts'
import type { Database, Trx } from '../database.ts'
import { isLoginRefused } from '../probe.ts'
import { isOutdated, isPoolersRefusal, openPipeline } from './connection.ts'

/** Share of the pool's connections for users' writes. The others are for reads and for the service's own work. */
const writesShare = 0.6
/** While one write commits, the next waits for the lock on the owner's row. More would only occupy connections. */
const maxWritesOfOwner = 2
/** SQLSTATE of a serialization failure and of a deadlock. The database has rolled back, so the write is repeated. */
const transient = new Set(['40001', '40P01'])
const attempts = 3

/**
 * Runs each write in its own transaction. Writes of one owner wait for the same row, and could occupy the whole pool,
 * so each owner gets few connections. The service's own writes are few, and do not take turns with users': a lease
 * could expire while they wait.
 */
export function createPostgresWriter(
  db: Kysely<Schema>,
  poolSize: number,
): Pick<Database, 'write'> & { load(): { waiting: number } } {
  const slots = new Slots({ total: Math.floor(poolSize * writesShare), perOwner: maxWritesOfOwner })

  async function transact<T>(work: (trx: Trx) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await db.transaction().execute(async (trx) => {
          await openPipeline(trx)
          return work(trx)
        })
      } catch (error) {
        const isTransient = transient.has((error as { code?: string }).code ?? '')
        if (attempt === attempts || !isTransient) throw error
      }
    }
  }

  async function write<T>(work: (trx: Trx) => Promise<T>, owner?: string): Promise<T> {
    return owner === undefined ? transact(work) : slots.run(owner, () => transact(work))
  }

  return { write, load: () => slots.load() }
}

/** True if the server has no connection left. */
export function isFull(error: unknown): boolean {
  return (error as { code?: string }).code === '53300'
}

/**
 * True if the database is unreachable, starting, stopping, full, read-only or damaged, refuses the login, or did not
 * answer in time.
 */
export function isPostgresUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code = '' } = error as NodeJS.ErrnoException
  if (isPoolersRefusal(error)) return false
  if (
    isOutdated(error) ||
    isLoginRefused(error) ||
    /^(08|53|57|58|25P0|25006|26000|40|55P03|XX00[12])/.test(code) ||
    /^E(CONN|TIMEDOUT|PIPE|HOST|NET|AI_AGAIN)|^ENOTFOUND/.test(code)
  )
    return true
  return (
    code === '' &&
    /connection (terminated|ended|error)|timeout exceeded when trying to connect|query read timeout|client was closed|connection has been discarded/i.test(
      error.message,
    )
  )
}
