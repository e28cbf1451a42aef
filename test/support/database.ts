import Sqlite from 'better-sqlite3'
import { type KyselyPlugin, PostgresAdapter, SqliteAdapter, sql } from 'kysely'
import type { Context } from '../../src/service/context.ts'
import type { Trx } from '../../src/service/db/engine/database.ts'
import { isPostgres } from './database-url.ts'

/**
 * The content of the database, to show that nothing changed, not even a device's `last_sync`. Leaves out the heartbeat
 * of probes and sweeps, and the last use of logins, which are written at their own times.
 */
export async function snapshot({ database: { db } }: Context): Promise<string> {
  const names = tableNames.get(db) ?? (await db.introspection.getTables()).map(({ name }) => name)
  tableNames.set(db, names)
  const rows: [table: string, rows: unknown[]][] = []
  // One after another: in parallel, each would open a connection to Postgres.
  for (const name of names)
    if (name !== 'heartbeat') rows.push([name, (await sql`select * from ${sql.table(name)}`.execute(db)).rows])
  return JSON.stringify(rows, (key, value) => (key === 'last_used_at' ? undefined : value))
}

/** Listing the tables takes longer than reading them. */
const tableNames = new WeakMap<Context['database']['db'], string[]>()

/** The number of rows of each table that is not empty, except `ownTables`. */
export async function countRows({ database: { db } }: Context): Promise<Record<string, number>> {
  const tables: [string, unknown[]][] = JSON.parse(await snapshot({ database: { db } } as Context))
  return Object.fromEntries(
    tables.flatMap(([name, rows]) => (rows.length === 0 || ownTables.has(name) ? [] : [[name, rows.length]])),
  )
}

const ownTables = new Set(['epoch', 'applied_migrations', 'limits_in_force'])

/** A user's only record, with its ciphertext even if it is deleted. */
export async function findStored({ database: { db } }: Context, userId: string) {
  return db
    .selectFrom('records')
    .leftJoin('ciphertexts', (join) =>
      join
        .onRef('ciphertexts.user_id', '=', 'records.user_id')
        .onRef('ciphertexts.sequence', '=', 'records.data_sequence'),
    )
    .selectAll('records')
    .select(sql<string>`coalesce(records.encrypted_data, ciphertexts.encrypted_data)`.as('encrypted_data'))
    .where('records.user_id', '=', userId)
    .executeTakeFirstOrThrow()
}

/** Returns a function for the most bytes of ciphertext that a query outside a transaction has returned since. */
export function watchReads(context: Context): () => number {
  let most = 0
  onRead(context, (bytes) => {
    most = Math.max(most, bytes)
  })
  return () => most
}

/** Calls `read` with the length of the ciphertext that each query outside a transaction returns, and waits for it. */
export function onRead({ database }: Context, read: (bytes: number) => unknown, by: 'db' | 'bulk' = 'db'): void {
  const watch: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const lengths = result.rows.map(({ encrypted_data }) => String(encrypted_data ?? '').length)
      if ('encrypted_data' in (result.rows[0] ?? {})) await read(lengths.reduce((sum, length) => sum + length, 0))
      return result
    },
  }
  database[by] = database[by].withPlugin(watch)
}

export function diskError(): Error {
  const ioError = '58030'
  if (isPostgres) return Object.assign(new Error('disk I/O error'), { code: ioError })
  return new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR')
}

/** Runs an intercepted write. `around` can wrap the work within its transaction. */
type Intercepted<T> = (around?: <R>(work: () => Promise<R>) => Promise<R>) => Promise<T>

/**
 * Runs `intercept` in place of each write of `owner` from now on; returns a function that ends this. With undefined, of
 * each write: also those that the service makes by itself at any time, such as when logins were last used.
 */
export function interceptWrites(
  { database }: Pick<Context, 'database'>,
  owner: string | undefined,
  intercept: <T>(write: Intercepted<T>) => Promise<T>,
): () => void {
  const { write } = database
  database.write = (work, userId, ...rest) => {
    if (owner !== undefined && userId !== owner) return write(work, userId, ...rest)
    return intercept((around = (inside) => inside()) => write((trx) => around(() => work(trx)), userId, ...rest))
  }
  return () => Object.assign(database, { write })
}

/** Makes all queries but those of `bulk` fail from now on, and all writes; returns a function that repairs it. */
export function breakDatabase({ database }: Pick<Context, 'database'>, error: () => Error = diskError): () => void {
  const { db } = database
  const fail = () => {
    throw error()
  }
  database.db = new Proxy(db, { get: () => fail })
  const repair = breakWrites({ database }, error)
  return () => {
    repair()
    database.db = db
  }
}

/** Makes every write fail from now on; stored data can still be read. */
export function breakWrites({ database }: Pick<Context, 'database'>, error: () => Error = diskError): () => void {
  const { probe } = database
  const repair = interceptWrites({ database }, undefined, () => Promise.reject(error()))
  database.probe = () => Promise.reject(error())
  return () => {
    repair()
    database.probe = probe
  }
}

/** Makes every query outside a transaction fail from now on if the first table it names is this one. */
export function breakTable({ database }: Context, table: string, error: () => Error = diskError): () => void {
  const { db } = database
  // Another adapter, so that cached queries (src/service/db/engine/query.ts) are compiled again.
  const adapter = isPostgres ? new PostgresAdapter() : new SqliteAdapter()
  const intercept = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property)
        if (property === 'adapter') return adapter
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (args[0] === table) throw error()
          const result: unknown = value.apply(target, args)
          return property === 'getExecutor' ? intercept(result as object) : result
        }
      },
    })
  database.db = intercept(db)
  return () => Object.assign(database, { db })
}

/** On Postgres: true while a statement of this database waits for a lock, such as that of a row. */
export async function isWaitingForLock(db: Context['database']['db']): Promise<boolean> {
  return (await countWaitingForLock(db)) > 0
}

/** Whether a statement waits for a lock of this transaction. Others may wait meanwhile for what the service does itself. */
export async function blocksAnother(trx: Trx): Promise<boolean> {
  const blocked = sql`SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`
  return (await blocked.execute(trx)).rows.length > 0
}

/** The number of statements that wait for a lock. */
export async function countWaitingForLock(db: Context['database']['db']): Promise<number> {
  const waiting = sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  return (await waiting.execute(db)).rows.length
}
