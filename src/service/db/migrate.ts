import type Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import { ConfigError } from '../config/values.ts'
import type { Database, Db, Trx } from './engine/database.ts'
import { isSqlite } from './engine/query.ts'
import { type Migration, migrations } from './migrations/index.ts'

/** How long (ms) a migration waits to lock a table. Requests queue up behind it, so it gives up soon and is retried. */
const lockMs = 1_000

/** How the database's schema relates to this version's. */
export type SchemaState =
  /** The database has no tables of this service. */
  | 'none'
  | 'current'
  /** Migrations are missing. */
  | 'earlier'
  | 'newer'
  /** Made by a version before 3.0.0. */
  | 'before 3'

/** The tables and migrations of a database, which determine its state. */
export interface SchemaHistory {
  /** On Postgres, without those of extensions and of other schemas. */
  tables: string[]
  applied: { name: string; is_required: number }[]
}

export const tooOld = 'was made by a version before 3.0.0, which this one cannot use'

/**
 * Migrates the database to this version's schema. Instances of the previous release may be running. Each migration is a
 * transaction; if one fails, the earlier ones stay. If several instances start at once, the first migrates and the
 * others wait.
 */
export async function migrate(
  database: Pick<Database, 'db' | 'maintain' | 'isServer'>,
  steps: Migration[] = migrations,
): Promise<void> {
  const history = await readHistory(database.db)
  requireUsable(history)
  const state = stateOf(history, steps)
  if (state === 'newer') {
    const newer = unknownOf(history, steps).map(({ name }) => name)
    throw new ConfigError(`DATABASE_URL: the database has a newer version (${newer.join(', ')}); start that version`)
  }
  if (state === 'current') return
  await database.maintain(async (db) => {
    try {
      for (const step of steps) await apply(db, step, database.isServer)
    } catch (cause) {
      throw new ConfigError(`DATABASE_URL: the database cannot be migrated (${(cause as Error).message})`, { cause })
    }
  })
}

/** Refuses a database of another program or of version 2. */
export function requireUsable(history: SchemaHistory): void {
  const state = stateOf(history)
  if (state === 'before 3') throw new ConfigError(`DATABASE_URL: the database ${tooOld}; start with an empty one`)
  const [table] = history.tables
  if (state !== 'none' || table === undefined) return
  throw new ConfigError(
    `DATABASE_URL: the database does not belong to this service: it has the table ${table}; start with an empty one`,
  )
}

async function apply(db: Db, { name, isRequired, up }: Migration, isServer: boolean): Promise<void> {
  await db.transaction().execute(async (trx) => {
    if (isServer) {
      await sql`select pg_advisory_xact_lock(hashtext('migrations'))`.execute(trx)
      await sql`set local lock_timeout = ${sql.lit(lockMs)}`.execute(trx)
    }
    await makeHistory(trx)
    const known = await trx.selectFrom('applied_migrations').select('name').where('name', '=', name).executeTakeFirst()
    if (known) return
    await up(trx, isServer)
    const row = { name, is_required: Number(isRequired), applied_at: Date.now() }
    await trx.insertInto('applied_migrations').values(row).execute()
  })
}

async function makeHistory(trx: Trx): Promise<void> {
  await sql`create table if not exists applied_migrations (
    name text primary key, is_required integer not null, applied_at bigint not null)`.execute(trx)
}

/** Creates this version's schema in an empty database that gets its rows and applied migrations from another one. */
export async function makeEmptySchema(trx: Trx, isServer: boolean): Promise<void> {
  await makeHistory(trx)
  for (const { up } of migrations) await up(trx, isServer)
}

/** True if this version knows all migrations of the database, including those that are not required. */
export async function isWhollyKnown(db: Db): Promise<boolean> {
  const { applied } = await readHistory(db)
  return applied.every(({ name }) => migrations.some((step) => step.name === name))
}

export async function schemaState(db: Db): Promise<SchemaState> {
  return stateOf(await readHistory(db))
}

export function stateOf(history: SchemaHistory, steps: Migration[] = migrations): SchemaState {
  const { tables, applied } = history
  if (tables.includes('kysely_migration')) return 'before 3'
  if (applied.length === 0) return 'none'
  if (unknownOf(history, steps).length > 0) return 'newer'
  return steps.every((step) => applied.some(({ name }) => name === step.name)) ? 'current' : 'earlier'
}

/** The required migrations that this version does not know. It can run with unknown ones that are not required. */
function unknownOf({ applied }: SchemaHistory, steps: Migration[]): SchemaHistory['applied'] {
  return applied.filter(({ name, is_required }) => is_required === 1 && !steps.some((step) => step.name === name))
}

const tablesInFile = `select name from sqlite_schema where type = 'table' and name not like 'sqlite!_%' escape '!'`
const tablesOnServer = `select relname as name from pg_class where relkind in ('r', 'p') and pg_table_is_visible(oid)
  and (relname in ('applied_migrations', 'kysely_migration')
    or relnamespace = to_regnamespace(quote_ident(current_schema())))
  and not exists (select from pg_depend
    where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')`

export function historyIn(sqlite: Sqlite.Database): SchemaHistory {
  const tables = sqlite.prepare<[], string>(tablesInFile).pluck().all()
  const applied = tables.includes('applied_migrations')
    ? sqlite.prepare<[], SchemaHistory['applied'][0]>('select name, is_required from applied_migrations').all()
    : []
  return { tables, applied }
}

export async function readHistory(db: Db): Promise<SchemaHistory> {
  const { rows } = await sql.raw<{ name: string }>(isSqlite(db) ? tablesInFile : tablesOnServer).execute(db)
  const tables = rows.map(({ name }) => name)
  const applied = tables.includes('applied_migrations')
    ? await db.selectFrom('applied_migrations').select(['name', 'is_required']).execute()
    : []
  return { tables, applied }
}
