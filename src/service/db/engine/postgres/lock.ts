import { randomInt } from 'node:crypto'
import { sql } from 'kysely'
import pg from 'pg'
import type { Db } from '../database.ts'

/** Runs `work` unless another process has the lock of this name. The lock ends with the connection that took it. */
export async function holdLock(url: string, name: string, work: () => Promise<void>): Promise<void> {
  await withConnection(url, async (client) => {
    const { rows } = await client.query('SELECT pg_try_advisory_lock(hashtext($1)) AS locked', [name])
    if (rows[0].locked) await work()
  })
}

/** True if the URL leads to the database of `db`: a lock taken over one is visible over the other. */
export async function leadsTo(url: string, db: Db): Promise<boolean> {
  const [first, second] = [randomInt(2 ** 31), randomInt(2 ** 31)]
  return withConnection(url, async (client) => {
    // In a transaction, because a pooler would keep a session's lock.
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock($1, $2)', [first, second])
    const { rows } = await sql`select from pg_locks join pg_database on pg_database.oid = pg_locks.database
      where locktype = 'advisory' and datname = current_database()
      and classid::bigint = ${first} and objid::bigint = ${second}`.execute(db)
    return rows.length > 0
  })
}

async function withConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'encrypted-bookmark-sync lock',
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
  })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}
