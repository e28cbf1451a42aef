import type { FastifyBaseLogger } from 'fastify'
import { Kysely, sql } from 'kysely'
import type { Schema } from '../../schema.ts'
import type { Database } from '../database.ts'
import { writeHeartbeat } from '../probe.ts'
import { openPool, PoolDialect, type Server } from './connection.ts'
import { holdLock } from './lock.ts'
import { createPostgresWriter, isFull, isPostgresUnavailable } from './writer.ts'

/** Milliseconds between logins of the probe. The pool, too, closes idle connections after that time. */
const loginEveryMs = 10_000

export interface PostgresOptions {
  poolSize?: number
  /** The URL that bypasses the pooler, if `url` leads to one that assigns connections per transaction. */
  directUrl?: string
}

export function openPostgres(
  url: string,
  log: FastifyBaseLogger,
  { poolSize = 20, directUrl = url }: PostgresOptions = {},
): Database {
  const times = { count: 0, ms: 0 }
  const server: Server = { url, isPooled: directUrl !== url }
  const pool = openPool(server, log, times, { max: poolSize, query_timeout: 35_000 })
  const db = new Kysely<Schema>({ dialect: new PoolDialect(pool, server) })
  // Probes have their own connection, so that they need not wait for a busy one, and give up on a dead one sooner.
  const probes = openPool(server, log, times, { max: 1, query_timeout: 5_000 })
  const probing = new Kysely<Schema>({ dialect: new PoolDialect(probes, server) })
  const logins = openPool(server, log, times, { max: 1, query_timeout: 5_000 })
  let loggedInAt = performance.now()

  /** Open connections outlive the password. If the server is merely full, those of the pool still serve requests. */
  async function logIn(): Promise<void> {
    try {
      const client = await logins.connect()
      client.release(true)
    } catch (error) {
      if (!isFull(error) || pool.totalCount === 0) throw error
    }
    loggedInAt = performance.now()
  }

  // Not `clock_timestamp()`: in a write, Citus accepts no clock that advances during the statement.
  const now = sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`

  const { load, write } = createPostgresWriter(db, poolSize)
  return {
    db,
    bulk: db,
    write,
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
    async probe() {
      if (performance.now() - loggedInAt >= loginEveryMs) await logIn()
      return writeHeartbeat(probing, now)
    },
    now,
    emptyLog: async () => {},
    isUnavailable: isPostgresUnavailable,
    load: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount + load().waiting,
    }),
    queries: () => times,
    async close() {
      await logins.end()
      await probing.destroy()
      await db.destroy()
    },
  }
}
