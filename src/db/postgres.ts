import type { FastifyBaseLogger } from 'fastify'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { ConfigError } from '../config/values.ts'
import { createAdmission } from './admission.ts'
import { postgresBatches } from './batches-postgres.ts'
import type { Database } from './database.ts'
import { beat } from './heartbeat.ts'
import { preparedName } from './query.ts'
import { addQueries, createQueryTimes, type QueryTimes } from './query-times.ts'
import type { Schema } from './schema.ts'

const int8 = 20
/** A deadlock or a conflict between transactions: the database has rolled back, so the write is retried. */
const transient = new Set(['40001', '40P01'])
const attempts = 3
/** Settings of synchronous_commit with which a commit is on disk, and on that of the synchronous standbys, if any. */
const durable = new Set(['on', 'remote_apply'])

export function openPostgres(url: string, log: FastifyBaseLogger, connections = 20): Database {
  const times = createQueryTimes()
  const pool = openPool(url, log, times, { max: connections, query_timeout: 35_000 })
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })
  // A probe waits neither for connections in use nor for one that hears nothing any more.
  const probing = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool: openPool(url, log, times, { max: 1, query_timeout: 5_000 }) }),
  })
  const now = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`

  const admission = createAdmission(connections)

  const transact: Database['write'] = async (work) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await db.transaction().execute(work)
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
      const pool = openPool(url, log, times, { max: 1, query_timeout: 0, statement_timeout: 0, lock_timeout: 0 })
      const maintaining = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })
      try {
        return await work(maintaining)
      } finally {
        await maintaining.destroy()
      }
    },
    /** The lock belongs to its connection, so it ends with it, however this process may end. */
    exclusively: (name, work) =>
      db.connection().execute(async (connection) => {
        const key = sql`hashtext(${name})`
        const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_lock(${key}) as locked`.execute(
          connection,
        )
        if (!rows[0]?.locked) return
        try {
          await work()
        } finally {
          await sql`select pg_advisory_unlock(${key})`.execute(connection)
        }
      }),
    probe: () => beat(probing, now),
    now,
    ...postgresBatches,
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

type Limits = Pick<pg.PoolConfig, 'max' | 'query_timeout' | 'statement_timeout' | 'lock_timeout'>

/** The limits on the server end what takes too long; `query_timeout` is for a connection over which nothing comes any more. */
function openPool(url: string, log: FastifyBaseLogger, times: QueryTimes, limits: Limits): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 30_000,
    lock_timeout: 15_000,
    ...limits,
    idle_in_transaction_session_timeout: 15_000,
    keepAlive: true,
    application_name: 'encrypted-bookmark-sync',
    types: { getTypeParser: readNumbers },
    onConnect: ensureDurable,
  })
  // A broken connection is replaced, and its query fails. Without listeners, idle or in use, it would end the process.
  pool.on('error', (err) => log.warn({ err }, 'a database connection was lost'))
  pool.on('connect', (client) => {
    client.on('error', () => {})
    prepareClient(client, times)
  })
  return pool
}

/** From its first use on, a connection keeps each query of db/query.ts prepared. After a failure for good it is closed. */
function prepareClient(client: pg.PoolClient, times: QueryTimes): void {
  const query = client.query.bind(client) as (text: unknown, ...rest: unknown[]) => Promise<unknown>
  const prepared = async (text: unknown, ...rest: unknown[]) => {
    const name = typeof text === 'string' ? preparedName(text) : undefined
    const began = performance.now()
    try {
      const result = await query(name === undefined ? text : { name, text }, ...rest)
      addQueries(times, 1, began)
      return result
    } catch (error) {
      if (isLasting(error)) void client.end().catch(() => {})
      throw error
    }
  }
  client.query = prepared as typeof client.query
}

const readOnly = '25006'
const notPrepared = '26000'

/**
 * The server became a standby, which the next connection may not reach, or has forgotten what was prepared, or the
 * connection is dead.
 */
function isLasting(error: unknown): boolean {
  const { code = '', message } = error as Error & { code?: string }
  return [readOnly, notPrepared].includes(code) || message === 'Query read timeout'
}

/** The server, the role or the URL may have set that a commit does not wait for the disk. */
async function ensureDurable(client: pg.ClientBase): Promise<void> {
  const read = async () => (await client.query('SHOW synchronous_commit')).rows[0].synchronous_commit
  if (durable.has(await read())) return
  await client.query('SET synchronous_commit = on')
  const setting = await read()
  if (durable.has(setting)) return
  throw new ConfigError(`DATABASE_URL: synchronous_commit stays ${setting}, so confirmed writes could be lost`)
}

/** The driver returns 64-bit integers as text, because JavaScript numbers cannot hold large ones. Ours are small. */
function readNumbers(oid: number, format?: 'text' | 'binary') {
  return oid === int8 ? Number : pg.types.getTypeParser(oid, format as 'text')
}

/** No connection, a broken one, a database that is starting, stopping, full, read-only or damaged, or a statement that took too long. */
function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code = '' } = error as NodeJS.ErrnoException
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
