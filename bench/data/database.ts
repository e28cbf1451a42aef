import Sqlite from 'better-sqlite3'
import pg from 'pg'

/** The database of a service that is not running, to put data into by statements that both databases understand. */
export interface Data {
  run(statement: string): Promise<void>
  close(): Promise<void>
}

/** Of a `postgres:` URL, or of a file. */
export async function openData(place: string): Promise<Data> {
  if (place.startsWith('postgres:')) {
    const client = new pg.Client({ connectionString: place })
    await client.connect()
    return {
      run: async (statement) => void (await client.query(statement)),
      async close() {
        // A server that has run for some time knows how much its tables hold.
        await client.query('ANALYZE')
        await client.end()
      },
    }
  }
  const db = new Sqlite(place)
  db.pragma('journal_mode = WAL')
  return { run: async (statement) => void db.exec(statement), close: async () => void db.close() }
}

/** A new database of the server; its URL. A template must have no connections. */
export async function createDatabase(postgresUrl: string, name: string, template = 'template1'): Promise<string> {
  const client = new pg.Client({ connectionString: `${postgresUrl}/postgres` })
  await client.connect()
  await client.query(`CREATE DATABASE "${name}" TEMPLATE "${template}"`)
  await client.end()
  return `${postgresUrl}/${name}`
}
