import { createHash, randomBytes } from 'node:crypto'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { parse, v7 as uuidv7 } from 'uuid'
import { createSeal } from '../src/service/seal/seal.ts'
import { ciphertextLength } from './worker/records.ts'

/** The database of a service that is not running. Statements for `run` must work on SQLite and on Postgres. */
export interface Data {
  run(statement: string): Promise<void>
  close(): Promise<void>
}

/** Opens a Postgres database by its `postgres:` URL, or an SQLite file. */
export async function openData(place: string): Promise<Data> {
  if (place.startsWith('postgres:')) {
    const client = new pg.Client({ connectionString: place })
    await client.connect()
    return {
      run: async (statement) => void (await client.query(statement)),
      async close() {
        // Gathers statistics for the query planner. A server that has run for a while has done so by itself.
        await client.query('ANALYZE')
        await client.end()
      },
    }
  }
  const db = new Sqlite(place)
  db.pragma('journal_mode = WAL')
  return { run: async (statement) => void db.exec(statement), close: async () => void db.close() }
}

/** Creates a copy of the database `template`, to which nobody may be connected. Returns the copy's URL. */
export async function createDatabase(postgresUrl: string, name: string, template = 'template1'): Promise<string> {
  const client = new pg.Client({ connectionString: `${postgresUrl}/postgres` })
  await client.connect()
  await client.query(`CREATE DATABASE "${name}" TEMPLATE "${template}"`)
  await client.end()
  return `${postgresUrl}/${name}`
}

const ciphertext = 'x'.repeat(ciphertextLength)
const hash = 'h'.repeat(64)
const bookmarksPerStatement = 100_000
/** A user's nth bookmark gets the sequence number `sequenceStart + n`: as in the service, roughly a time in ms. */
export const sequenceStart = 1_700_000_000_000

/** Stores `count` bookmarks for each of these users, who must not have any. */
export async function addBookmarks(data: Data, users: string[], count: number): Promise<void> {
  const owners = users.map((user) => `SELECT '${user}' AS id`).join(' UNION ALL ')
  for (let from = 1; from <= count; from += bookmarksPerStatement) {
    const to = Math.min(count, from + bookmarksPerStatement - 1)
    const series = `WITH RECURSIVE series(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM series WHERE n < ${to}),
      owners AS (${owners})`
    await data.run(`INSERT INTO records (user_id, entity_type, entity_id, data_hash, created_at, updated_at, sequence,
      stored_at, event_id, operation, timestamp, device_id, bytes, data_sequence, first_sequence, first_stored_at, encrypted_data)
      ${series} SELECT id, 'bookmark', ${idOf('n')}, '${hash}', ${sequenceStart} + n, ${sequenceStart} + n, ${sequenceStart} + n,
      ${sequenceStart} + n, ${idOf('n')}, 'create', ${sequenceStart} + n, 'laptop', ${ciphertext.length}, ${sequenceStart} + n,
      ${sequenceStart} + n, ${sequenceStart} + n, '${ciphertext}' FROM owners, series`)
  }
  const quoted = users.map((user) => `'${user}'`)
  await data.run(`UPDATE users SET last_sequence = ${sequenceStart} + ${count}, live_bookmarks = ${count}, stored_records = ${count},
    stored_bytes = ${count * ciphertext.length} WHERE id IN (${quoted})`)
}

/** The id of every user's nth bookmark, counted from 1. */
export function bookmarkId(n: number): string {
  return `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`
}

function idOf(n: string): string {
  return `'01900000-0000-7000-8000-' || substr(CAST(1000000000000 + ${n} AS text), 2)`
}

interface Person {
  userId: string
  session: string
}

const dayMs = 86_400_000
const peoplePerStatement = 500

/** Creates users who are signed in and store nothing. */
export async function addPeople(data: Data, count: number, secretKey: string): Promise<Person[]> {
  const seal = createSeal([Buffer.from(secretKey, 'base64')])
  const people = Array.from({ length: count }, () => newPerson())
  const now = Date.now()
  for (let from = 0; from < count; from += peoplePerStatement) {
    const part = people.slice(from, from + peoplePerStatement)
    const users = part.map(({ userId }) => {
      const sealed = seal.seal(randomBytes(32), { purpose: 'export-key', userId, rowId: userId })
      return `('${userId}', 'https://issuer.example', '${userId}', '', '', '', 0, '${sealed}', ${now})`
    })
    await data.run(`INSERT INTO users (id, issuer, subject, email, name, avatar_url, email_verified, export_key_sealed,
      created_at) VALUES ${users}`)
    const logins = part.map(({ userId }) => `('${userId}', '${userId}', ${now}, ${now}, '', ${now})`)
    await data.run(
      `INSERT INTO logins (id, user_id, checked_at, created_at, user_agent, last_used_at) VALUES ${logins}`,
    )
    const tokens = part.map(({ userId, session }) => {
      const hash = createHash('sha256').update(session).digest('base64url')
      return `('${hash}', 'session', '${userId}', '${userId}', ${now}, ${now + dayMs})`
    })
    await data.run(`INSERT INTO tokens (hash, kind, user_id, login_id, issued_at, expires_at) VALUES ${tokens}`)
  }
  return people
}

/** A session token begins with the user's id, as in src/service/auth/sessions.ts. */
function newPerson(): Person {
  const userId = uuidv7()
  return { userId, session: Buffer.concat([parse(userId), randomBytes(16)]).toString('base64url') }
}
