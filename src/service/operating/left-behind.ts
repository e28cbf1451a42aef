import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import { openToLook } from '../backup/line.ts'
import type { Config } from '../config/config.ts'
import { sqliteFile } from '../config/storage.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { schemaState } from '../db/migrate.ts'
import { commandLine } from '../terminal/command.ts'

/** The SQLite database that a service with Postgres had before, and how many users it has. */
interface LeftBehind {
  path: string
  users: number
}

type Place = Pick<Config, 'dataDir' | 'databaseUrl'>

/** Undefined unless the database in Postgres has no users, and one in DATA_DIR has some. */
export async function findLeftBehind({ dataDir, databaseUrl }: Place, db: Db): Promise<LeftBehind | undefined> {
  const path = join(dataDir, 'bookmarks.db')
  if (sqliteFile(databaseUrl) !== undefined || !existsSync(path) || (await hasUsers(db))) return undefined
  const users = await countUsers(path)
  return users > 0 ? { path, users } : undefined
}

async function hasUsers(db: Db): Promise<boolean> {
  if ((await schemaState(db)) === 'none') return false
  return (await db.selectFrom('users').select('id').limit(1).executeTakeFirst()) !== undefined
}

/** None in a file that cannot be read: it may be anything. */
async function countUsers(path: string): Promise<number> {
  try {
    using opened = new DisposableStack()
    const sqlite = opened.adopt(await openToLook(path), (each) => void each.close())
    const count = 'select count(*) from users where id not in (select user_id from deletions)'
    return sqlite.prepare<[], number>(count).pluck().get() ?? 0
  } catch {
    return 0
  }
}

export function describeLeftBehind({ path, users }: LeftBehind): string {
  const count = users === 1 ? '1 user' : `${users} users`
  return `it has no users, while ${path} has ${count}: everybody who signs in begins anew`
}

/** The command that moves them, without the URL: it may have a password. */
export function moveLeftBehind({ path }: LeftBehind): string {
  return `DATABASE_URL='sqlite:${path}' ${commandLine('move', '--to-file FILE')}`
}

/** Logs at the start that the service begins anew beside what it had. */
export async function checkLeftBehind(parts: {
  config: Place
  database: Pick<Database, 'db'>
  log: FastifyBaseLogger
}): Promise<void> {
  const left = await findLeftBehind(parts.config, parts.database.db)
  if (left === undefined) return
  parts.log.warn(
    `DATABASE_URL: ${describeLeftBehind(left)}. To go on with them, stop it and run ${moveLeftBehind(left)}`,
  )
}
