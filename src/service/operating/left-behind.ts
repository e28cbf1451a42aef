import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import { openForReading } from '../backup/database-id.ts'
import type { Config } from '../config/config.ts'
import { sqliteFile } from '../config/storage.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { schemaState } from '../db/migrate.ts'
import { findLastSequences } from '../db/tables/users.ts'
import { commandLine } from '../terminal/command.ts'

/** A SQLite database that the service used before Postgres, and its number of users (if ahead: with later changes). */
interface LeftBehind {
  path: string
  users: number
  /** True if Postgres has these users, but the file has later changes: a service was started on it after the move. */
  isAhead: boolean
}

type Place = Pick<Config, 'dataDir' | 'databaseUrl'>

/** Found if Postgres has no users while a database in DATA_DIR has some, or if that database has later changes. */
export async function findLeftBehind({ dataDir, databaseUrl }: Place, db: Db): Promise<LeftBehind | undefined> {
  const path = join(dataDir, 'bookmarks.db')
  if (sqliteFile(databaseUrl) !== undefined || !existsSync(path)) return undefined
  const isAhead = await hasUsers(db)
  const left = await readUsers(path)
  const users = isAhead ? await countAhead(db, left) : left.length
  return users > 0 ? { path, users, isAhead } : undefined
}

async function hasUsers(db: Db): Promise<boolean> {
  if ((await schemaState(db)) === 'none') return false
  return (await db.selectFrom('users').select('id').limit(1).executeTakeFirst()) !== undefined
}

interface UserOfFile {
  id: string
  last_sequence: number
}

/** Empty if the file cannot be read, because it may be anything. */
async function readUsers(path: string): Promise<UserOfFile[]> {
  try {
    using opened = new DisposableStack()
    const sqlite = opened.adopt(await openForReading(path), (each) => void each.close())
    const users = 'select id, last_sequence from users where id not in (select user_id from deletions)'
    return sqlite.prepare<[], UserOfFile>(users).all()
  } catch {
    return []
  }
}

/** Users per query. */
const atOnce = 500

async function countAhead(db: Db, users: UserOfFile[]): Promise<number> {
  let count = 0
  for (let at = 0; at < users.length; at += atOnce) {
    const part = users.slice(at, at + atOnce)
    const known = await findLastSequences(
      db,
      part.map(({ id }) => id),
    )
    count += part.filter(({ id, last_sequence }) => last_sequence > (known.get(id) ?? last_sequence)).length
  }
  return count
}

export function describeLeftBehind({ path, users, isAhead }: LeftBehind): string {
  const count = users === 1 ? '1 user' : `${users} users`
  if (isAhead) return `${path} has later changes of ${count}: a service was started on it after the move`
  return `it has no users, while ${path} has ${count}: everybody who signs in starts over`
}

/** The operator's next step. Leaves out the URL, which may contain a password. */
export function adviceFor({ path, isAhead }: LeftBehind): string {
  return isAhead
    ? `stop all services, run ${commandLine('restored')}, so that devices send their changes again, and move ${path} elsewhere`
    : `stop the service and move them: DATABASE_URL='sqlite:${path}' ${commandLine('move', '--to-file FILE')}`
}

/** Logs at the start which data the database lacks. */
export async function checkLeftBehind(parts: {
  config: Place
  database: Pick<Database, 'db'>
  log: FastifyBaseLogger
}): Promise<void> {
  const left = await findLeftBehind(parts.config, parts.database.db)
  if (left) parts.log.warn(`DATABASE_URL: ${describeLeftBehind(left)}; ${adviceFor(left)}`)
}
