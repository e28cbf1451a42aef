import type { Kysely } from 'kysely'
import { Slots } from '../../../load/slots.ts'
import type { Schema } from '../../schema.ts'
import type { Database, Trx } from '../database.ts'
import { isOutdated, isPoolersRefusal, openPipeline } from './connection.ts'

/** Share of the pool's connections. The others are for reads, which wait for nobody's lock, and for the service itself. */
const writesShare = 0.6
/** One that commits, and one that gets the lock after it. More would only hold connections that others could use. */
const maxWritesOfOwner = 2
/** A deadlock or a conflict between transactions: the database has rolled back, so the write is retried. */
const transient = new Set(['40001', '40P01'])
const attempts = 3

/**
 * A transaction for each write. Those of one owner wait for the lock on the same row, and would hold the whole pool meanwhile, so
 * they get few connections. The service's own writes are few and must not wait for users: leases would run out.
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

/** No connection, a broken one, a database that is starting, stopping, full, read-only or damaged, or a statement that took too long. */
export function isPostgresUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code = '' } = error as NodeJS.ErrnoException
  if (isPoolersRefusal(error)) return false
  if (
    isOutdated(error) ||
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
