import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { ConfigError } from '../config/values.ts'
import type { Database, Db } from './engine/database.ts'
import { expansionsWith } from './migrations/index.ts'
import { migrationsWith } from './migrations/until-2.0.0.ts'

/**
 * How long a migration waits for a table. All requests for the table wait behind it, so it gives up soon, and is tried again.
 */
const lockMs = 1_000

type Migrations = Record<string, Migration>

/**
 * Makes the schema that this version needs. Instances of the previous release may be running on the database. Each
 * expansion is a transaction of its own; if one fails, those before it stay.
 */
export async function migrate(database: Pick<Database, 'db' | 'maintain' | 'isServer'>): Promise<void> {
  const text = database.isServer ? 'text collate "C"' : 'text'
  const applied = await appliedMigrations(database.db)
  const newer = applied.required.filter((name) => !isKnown(name))
  if (newer.length > 0) {
    throw new ConfigError(`DATABASE_URL: the database has a newer version (${newer.join(', ')}); start that version`)
  }
  const isMissing = (name: string) => !applied.all.has(name)
  if (!knownMigrations().some(isMissing)) return
  await database.maintain(async (db) => {
    try {
      if (Object.keys(migrationsWith(text)).some(isMissing)) await makeSchema(db, migrationsWith(text))
      await expand(db, expansionsWith(text), database.isServer)
    } catch (cause) {
      throw new ConfigError(`DATABASE_URL: the database cannot be migrated (${(cause as Error).message})`, { cause })
    }
  })
}

export function knownMigrations(): string[] {
  return [...Object.keys(migrationsWith('text')), ...Object.keys(expansionsWith('text'))]
}

function isKnown(name: string): boolean {
  return knownMigrations().includes(name)
}

async function makeSchema(db: Db, migrations: Migrations): Promise<void> {
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => migrations } }).migrateToLatest()
  if (error) throw error
}

/** Several instances may start at once: the first does it, the others wait for it. */
export async function expand(db: Db, expansions: Migrations, isServer: boolean): Promise<void> {
  for (const [name, { up }] of Object.entries(expansions)) {
    await db.transaction().execute(async (trx) => {
      if (isServer) {
        await sql`select pg_advisory_xact_lock(hashtext('expansions'))`.execute(trx)
        await sql`set local lock_timeout = ${sql.lit(lockMs)}`.execute(trx)
      }
      await trx.schema
        .createTable('expansions')
        .ifNotExists()
        .addColumn('name', 'text', (it) => it.primaryKey())
        .execute()
      const known = await trx.selectFrom('expansions').select('name').where('name', '=', name).executeTakeFirst()
      if (known) return
      await up(trx)
      await trx.insertInto('expansions').values({ name }).execute()
    })
  }
}

interface Applied {
  /** An instance must know these to start here. Not the expansions, beside which older instances can run. */
  required: string[]
  all: Set<string>
}

export async function appliedMigrations(db: Db): Promise<Applied> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  const namesIn = async (table: 'kysely_migration' | 'expansions') => {
    if (!tables.some(({ name }) => name === table)) return []
    const rows = await db
      .withTables<{ kysely_migration: { name: string } }>()
      .selectFrom(table)
      .select('name')
      .execute()
    return rows.map(({ name }) => name)
  }
  const required = await namesIn('kysely_migration')
  return { required, all: new Set([...required, ...(await namesIn('expansions'))]) }
}
