import { Kysely, SqliteDialect, sql } from 'kysely'
import { ConfigError } from '../config/values.ts'
import type { Database, Db } from './engine/database.ts'
import { isWhollyKnown, makeEmptySchema } from './migrate.ts'
import type { Schema } from './schema.ts'

/** A column, index or key of a table, such as `index records_newest`. */
interface Part {
  of: string
  part: string
}

/** Throws if Postgres lacks a part of this version's schema, as after a `pg_restore` that was interrupted. */
export async function requireWholeSchema({ db, isServer }: Pick<Database, 'db' | 'isServer'>): Promise<void> {
  const missing = isServer ? await missingParts(db) : []
  if (missing.length === 0) return
  const [first, ...others] = missing
  throw new ConfigError(
    `DATABASE_URL: the database is incomplete (${first}${others.length > 0 ? `, and ${others.length} more` : ''}), as after a pg_restore that was interrupted: load the dump into an empty database again`,
  )
}

/** Lists what Postgres lacks. Empty if a newer version has migrated the database, because that may have removed parts. */
export async function missingParts(db: Db): Promise<string[]> {
  if (!(await isWhollyKnown(db))) return []
  const expected = await partsOfSchema()
  const found = new Set((await partsOf(db, [...new Set(expected.map(({ of }) => of))])).map(nameOf))
  return expected.map(nameOf).filter((name) => !found.has(name))
}

/** Lists the rights that the user of this connection lacks, such as `insert on records`. Needs Postgres. */
export async function missingRights(db: Db): Promise<string[]> {
  const tables = new Set((await partsOfSchema()).map(({ of }) => of))
  // Migrations write it, over PULSE_DATABASE_URL, whose user may be another one.
  tables.delete('applied_migrations')
  const { rows } = await sql<{ lacks: string }>`select operation || ' on ' || name as lacks
    from unnest(${[...tables]}::text[]) name, unnest('{select,insert,update,delete}'::text[]) operation
    where not has_table_privilege(to_regclass(name), operation)`.execute(db)
  return rows.map(({ lacks }) => lacks)
}

function nameOf({ of, part }: Part): string {
  return `${of}: ${part}`
}

/** Reads what the migrations make from an empty SQLite, which has the same tables, columns, indexes and keys. */
async function partsOfSchema(): Promise<Part[]> {
  const { default: Sqlite } = await import('better-sqlite3')
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: new Sqlite(':memory:') }) })
  try {
    await db.transaction().execute((trx) => makeEmptySchema(trx, false))
    const { rows } = await sql<Part>`
      with tables as (select name from sqlite_schema where type = 'table')
      select t.name as of, 'column ' || c.name as part from tables t, pragma_table_info(t.name) c
      union all select t.name, 'primary key' from tables t
        where exists (select 1 from pragma_table_info(t.name) where pk > 0)
      union all select t.name, 'index ' || i.name from tables t, pragma_index_list(t.name) i where i.origin = 'c'
      union all select t.name, 'reference to ' || f."table" from tables t, pragma_foreign_key_list(t.name) f`.execute(
      db,
    )
    return rows
  } finally {
    await db.destroy()
  }
}

/** Finds the tables as queries do, by the search path. An index that is not valid counts as missing. */
async function partsOf(db: Db, tables: string[]): Promise<Part[]> {
  const { rows } = await sql<Part>`
    with tables as (select name, to_regclass(name) as oid from unnest(${tables}::text[]) name)
    select t.name as of, 'column ' || a.attname as part from tables t
      join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    union all select t.name, 'index ' || c.relname from tables t
      join pg_index i on i.indrelid = t.oid and i.indisvalid join pg_class c on c.oid = i.indexrelid
    union all select t.name, 'primary key' from tables t
      join pg_constraint c on c.conrelid = t.oid and c.contype = 'p'
    union all select t.name, 'reference to ' || r.relname from tables t
      join pg_constraint c on c.conrelid = t.oid and c.contype = 'f' join pg_class r on r.oid = c.confrelid`.execute(db)
  return rows
}
