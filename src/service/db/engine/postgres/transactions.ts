import type { Kysely } from 'kysely'
import type { Schema } from '../../schema.ts'
import type { Ground } from '../writer.ts'
import { isOutdated, isPoolersRefusal, openPipeline } from './connection.ts'

/** Of the pool's connections. The others are for reads, which wait for nobody's lock, and for the service itself. */
const writesShare = 0.6
/** One that commits, and one that gets the lock after it. More would only hold connections that others could use. */
const maxWritesOfOwner = 2
/** A deadlock or a conflict between transactions: the database has rolled back, so the write is retried. */
const transient = new Set(['40001', '40P01'])
const attempts = 3

/**
 * Each transaction is of one owner, and has a connection. In the pool, those that wait for one row's lock would hold all of it.
 * The service's own writes are few, and must not wait for users: leases would run out.
 */
export function postgresGround(db: Kysely<Schema>, poolSize: number): Ground {
  return {
    slots: { all: Math.floor(poolSize * writesShare), ofOwner: maxWritesOfOwner, serviceWaits: false },
    isUnavailable,
    async transact(group) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          await db.transaction().execute(async (trx) => {
            await openPipeline(trx)
            await group.run(trx)
          })
          break
        } catch (error) {
          const isTransient = transient.has((error as { code?: string }).code ?? '')
          if (attempt === attempts || !isTransient) return group.fail(error)
        }
      }
      group.settle()
    },
  }
}

/** No connection, a broken one, a database that is starting, stopping, full, read-only or damaged, or a statement that took too long. */
function isUnavailable(error: unknown): boolean {
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
