import { sql } from 'kysely'
import { pino } from 'pino'
import type { Config } from '../config/config.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { readHistory, stateOf } from '../db/migrate.ts'
import { missingRights } from '../db/whole.ts'
import { tryNotices } from '../notices/open.ts'
import { type Finding, failure, ok } from './doctor-place.ts'

type Server = Pick<Database, 'db' | 'maintain'>

/** Checks that Postgres takes writes, PULSE_DATABASE_URL, the rights of the user, and notifications. */
export async function examineServer(config: Config, database: Server): Promise<Finding[]> {
  const { databaseUrl, databaseServer } = config
  const readOnly = await describeReadOnly(database.db)
  if (readOnly !== undefined) return [failure('database', `it takes no writes: ${readOnly.says}`, readOnly.todo)]
  const isSplit = databaseServer.directUrl !== databaseUrl
  const direct = isSplit ? await findDirectFault(databaseServer.directUrl, database) : undefined
  if (direct !== undefined)
    return [failure('database', `PULSE_DATABASE_URL: ${direct}`, 'name a direct connection to the same database')]
  return [...(await examineRights(database)), await examineNotifications(config, isSplit)]
}

/** Undefined if transactions may write. */
async function describeReadOnly(db: Db) {
  const { rows } = await sql<{ isStandby: boolean; isReadOnly: boolean }>`select pg_is_in_recovery() as "isStandby",
    current_setting('transaction_read_only')::boolean as "isReadOnly"`.execute(db)
  if (rows[0]?.isStandby) return { says: 'the server is a standby', todo: 'let DATABASE_URL lead to the primary' }
  if (!rows[0]?.isReadOnly) return undefined
  const todo = 'turn it off for the server, the database and the user'
  return { says: 'default_transaction_read_only is on', todo }
}

async function findDirectFault(directUrl: string, { db, maintain }: Server): Promise<string | undefined> {
  const { leadsTo } = await import('../db/engine/postgres/lock.ts')
  try {
    if (!(await leadsTo(directUrl, db))) return 'this is another database than that of DATABASE_URL'
    // A pooler refuses the settings of this connection.
    await maintain(async (direct) => sql`select`.execute(direct))
    return undefined
  } catch (error) {
    return `the database cannot be used (${(error as Error).message})`
  }
}

/** Before a migration, checks that it may create tables; after it, that the service may use them. */
async function examineRights({ db, maintain }: Server): Promise<Finding[]> {
  if (stateOf(await readHistory(db)) === 'current') {
    const [first, ...others] = await missingRights(db)
    if (first === undefined) return []
    const says = `its user lacks rights: ${first}${others.length > 0 ? `, and ${others.length} more` : ''}`
    return [failure('database', says, 'grant select, insert, update, delete on all its tables')]
  }
  const { rows } = await maintain(async (direct) =>
    sql<{ may: boolean | null }>`select has_schema_privilege(current_schema(), 'create') as may`.execute(direct),
  )
  if (rows[0]?.may) return []
  return [failure('database', 'its user may not create tables', 'make this user the owner of the database')]
}

/** Sends a notification to this process, on the way that instances use. */
async function examineNotifications(config: Config, isSplit: boolean): Promise<Finding> {
  const variable = config.natsUrls.length > 0 ? 'PULSE_URL' : isSplit ? 'PULSE_DATABASE_URL' : 'DATABASE_URL'
  try {
    await tryNotices(config, pino({ level: 'silent' }))
    return ok('notifications', `those between instances arrive (${variable})`)
  } catch (error) {
    const says = `${variable}: those between instances do not arrive (${(error as Error).message})`
    return failure('notifications', says, 'until they arrive, no instance is ready for requests')
  }
}
