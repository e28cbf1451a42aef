import pg from 'pg'

/** Runs `work` unless somebody else holds the lock. It belongs to its connection, so it ends with this process at the latest. */
export async function holdLock(url: string, name: string, work: () => Promise<void>): Promise<void> {
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
    const { rows } = await client.query('SELECT pg_try_advisory_lock(hashtext($1)) AS locked', [name])
    if (rows[0].locked) await work()
  } finally {
    await client.end().catch(() => {})
  }
}
