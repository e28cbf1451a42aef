import type { FastifyBaseLogger } from 'fastify'
import { type DatabaseConnection, PostgresAdapter, PostgresDialect } from 'kysely'
import pg from 'pg'
import { ConfigError } from '../../../config/values.ts'
import type { Db, QueryTimes, Trx } from '../database.ts'
import { type Compiled, countQuery, preparedName, type Result, type Runner } from '../query.ts'
import type { RowWriter } from '../table.ts'
import { createGather } from './gather.ts'
import { writeAtOnce } from './rows.ts'

/** Kysely's dialect for a pool. Its adapter runs the queries of engine/query.ts. */
export class PoolDialect extends PostgresDialect {
  readonly #pipelines: boolean

  constructor(pool: pg.Pool, { isPooled }: Pick<Server, 'isPooled'>) {
    super({ pool })
    this.#pipelines = !isPooled
  }

  override createAdapter() {
    return new PipelineAdapter(this.#pipelines)
  }
}

class PipelineAdapter extends PostgresAdapter implements Runner, RowWriter {
  readonly pipelines: boolean
  readonly gather = createGather()
  readonly writeRows = writeAtOnce

  constructor(pipelines: boolean) {
    super()
    this.pipelines = pipelines
  }

  run<Row>(db: Db, { query, queryId, sql }: Compiled, parameters: readonly unknown[]): Promise<Result<Row>> {
    const connection = connections.get(db.getExecutor()) ?? db
    return connection.executeQuery<Row>({ query, queryId, sql, parameters })
  }
}

/** The connections of pipelining transactions, by executor. The executor itself sends one query after the other. */
const connections = new WeakMap<object, DatabaseConnection>()

/** Lets the transaction's queries of engine/query.ts reach the driver without waiting for earlier answers. */
export async function openPipeline(trx: Trx): Promise<void> {
  const executor = trx.getExecutor()
  connections.set(executor, await executor.provideConnection(async (connection) => connection))
}

export interface Server {
  url: string
  /** True if a pooler assigns connections per transaction, so that their settings and prepared statements get lost. */
  isPooled: boolean
}

/** The settings in which the pools of `openPostgres` differ. */
type Size = Pick<pg.PoolConfig, 'max' | 'query_timeout' | 'statement_timeout' | 'lock_timeout'>

const int8Oid = 20
const limits = { statement_timeout: 30_000, lock_timeout: 15_000, idle_in_transaction_session_timeout: 15_000 }
/** Values of synchronous_commit with which a commit is on disk, also on synchronous standbys. */
const durable = ['on', 'remote_apply']
/** Begins a transaction of a pooled connection and sets its limits and durability, in one message. */
const beginWithSettings = [
  'begin',
  ...Object.entries(limits).map(([name, ms]) => `set local ${name} = ${ms}`),
  `select set_config('synchronous_commit', 'on', true)
    where current_setting('synchronous_commit') not in (${durable.map((setting) => `'${setting}'`)})`,
].join('; ')

/**
 * The server ends slow queries (`limits`); with a pooler, only those in transactions. `query_timeout` also ends a query
 * whose connection no longer delivers anything.
 */
export function openPool({ url, isPooled }: Server, log: FastifyBaseLogger, times: QueryTimes, size: Size): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    // Poolers may not support pipelining.
    pipeline: !isPooled,
    application_name: 'encrypted-bookmark-sync',
    types: { getTypeParser: readNumbers },
    ...(!isPooled && { ...limits, onConnect: ensureSound }),
    ...size,
  })
  // An idle connection broke, and the pool replaces it. Without a listener, the error would end the process.
  pool.on('error', (err) => log.warn({ err }, 'a database connection was lost'))
  pool.on('connect', (client) => {
    client.on('error', () => {})
    prepareClient(client, times, isPooled)
  })
  return pool
}

/** Keeps queries of engine/query.ts prepared, unless there is a pooler. Closes the connection once it is unusable. */
function prepareClient(client: pg.PoolClient, times: QueryTimes, isPooled: boolean): void {
  const query = client.query.bind(client) as (text: unknown, ...rest: unknown[]) => Promise<unknown>
  let closedFor: unknown
  const prepared = async (text: unknown, ...rest: unknown[]) => {
    const isPrepared = typeof text === 'string' && !isPooled && !hasLongList(rest[0])
    const name = isPrepared ? preparedName(text) : undefined
    const began = performance.now()
    try {
      const sent = isPooled && text === 'begin' ? beginWithSettings : text
      const result = await query(name === undefined ? sent : { name, text }, ...rest)
      countQuery(times, began)
      return result
    } catch (error) {
      if (closedFor === undefined && isLasting(error)) {
        closedFor = error
        void client.end().catch(() => {})
      }
      // The following rollback would fail, too, and hide the first error.
      throw closedFor ?? error
    }
  }
  client.query = prepared as typeof client.query
}

/** True if a list is too long for a cached plan, which is made for few rows and values. */
function hasLongList(values: unknown): boolean {
  return Array.isArray(values) && values.some((value) => Array.isArray(value) && value.length > shortLength)
}

const shortLength = 100

const readOnly = '25006'
const notPrepared = '26000'

/** True if the connection is unusable: dead, to a standby, or with lost or outdated prepared statements. */
function isLasting(error: unknown): boolean {
  const { code = '', message } = error as Error & { code?: string }
  return [readOnly, notPrepared].includes(code) || message === 'Query read timeout' || isOutdated(error)
}

/** True if columns have changed since the statement was prepared. The error's code alone does not show that. */
export function isOutdated(error: unknown): boolean {
  return (error as { routine?: string }).routine === 'RevalidateCachedQuery'
}

/** Makes commits wait for the disk. Throws if the server does not allow that, or cannot store every character. */
async function ensureSound(client: pg.ClientBase): Promise<void> {
  const settings = `select current_setting('synchronous_commit') as commit, current_setting('server_encoding') as encoding`
  const read = async () => (await client.query<{ commit: string; encoding: string }>(settings)).rows[0]
  const { commit = '', encoding = '' } = (await read()) ?? {}
  if (encoding !== 'UTF8') {
    throw new ConfigError(`DATABASE_URL: the database has the encoding ${encoding}; create it with ENCODING 'UTF8'`)
  }
  if (durable.includes(commit)) return
  await client.query('SET synchronous_commit = on')
  const setting = (await read())?.commit ?? ''
  if (durable.includes(setting)) return
  throw new ConfigError(`DATABASE_URL: synchronous_commit stays ${setting}, so confirmed writes could be lost`)
}

/** The driver returns 64-bit integers as text. Ours are small enough for numbers. */
function readNumbers(oid: number, format?: 'text' | 'binary') {
  return oid === int8Oid ? Number : pg.types.getTypeParser(oid, format as 'text')
}

/** True if PgBouncer refuses a setting because it shares connections. */
export function isPoolersRefusal({ message }: Error): boolean {
  return message.includes('unsupported startup parameter')
}
