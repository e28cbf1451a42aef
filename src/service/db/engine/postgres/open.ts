import type { FastifyBaseLogger } from 'fastify'
import { Kysely, sql } from 'kysely'
import type { Schema } from '../../schema.ts'
import { createAdmission } from '../admission.ts'
import type { Database } from '../database.ts'
import type { SoleDatabase } from '../joint-writes.ts'
import { beat } from '../probe.ts'
import { isPoolersRefusal, openPipeline, openPool, PoolDialect, type Server } from './connection.ts'
import { holdLock } from './lock.ts'

/** A deadlock or a conflict between transactions: the database has rolled back, so the write is retried. */
const transient = new Set(['40001', '40P01'])
const attempts = 3

export interface PostgresOptions {
  /** Connections of the pool. */
  poolSize?: number
  /** A direct connection, if the other URL names a pooler that gives each transaction another connection. */
  directUrl?: string
}

export function openPostgres(
  url: string,
  log: FastifyBaseLogger,
  { poolSize = 20, directUrl = url }: PostgresOptions = {},
): SoleDatabase {
  const times = { count: 0, ms: 0 }
  const server: Server = { url, isPooled: directUrl !== url }
  const pool = openPool(server, log, times, { max: poolSize, query_timeout: 35_000 })
  const db = new Kysely<Schema>({ dialect: new PoolDialect(pool, server) })
  // A probe waits neither for connections in use nor for one that hears nothing any more.
  const probes = openPool(server, log, times, { max: 1, query_timeout: 5_000 })
  const probing = new Kysely<Schema>({ dialect: new PoolDialect(probes, server) })
  // A write that Citus sends to a shard may not read a clock that runs on during the statement.
  const now = sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`

  const admission = createAdmission(poolSize)

  const transact: Database['write'] = async (work) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await db.transaction().execute(async (trx) => {
          await openPipeline(trx)
          return work(trx)
        })
      } catch (error) {
        if (attempt === attempts || !transient.has((error as { code?: string }).code ?? '')) throw error
      }
    }
  }
  return {
    db,
    bulk: db,
    // The service's own writes are few, and must not wait for users: leases would run out.
    write: (work, owner) => (owner === undefined ? transact(work) : admission.run(owner, () => transact(work))),
    isServer: true,
    async maintain(work) {
      const unlimited = { max: 1, query_timeout: 0, statement_timeout: 0, lock_timeout: 0 }
      const direct = { url: directUrl, isPooled: false }
      const maintaining = new Kysely<Schema>({
        dialect: new PoolDialect(openPool(direct, log, times, unlimited), direct),
      })
      try {
        return await work(maintaining)
      } finally {
        await maintaining.destroy()
      }
    },
    exclusively: (name, work) => holdLock(directUrl, name, work),
    probe: () => beat(probing, now),
    now,
    emptyLog: async () => {},
    isUnavailable,
    load: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount + admission.waiting(),
    }),
    queries: () => times,
    async close() {
      await probing.destroy()
      await db.destroy()
    },
  }
}

/** No connection, a broken one, a database that is starting, stopping, full, read-only or damaged, or a statement that took too long. */
function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code = '' } = error as NodeJS.ErrnoException
  if (isPoolersRefusal(error)) return false
  if (
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
