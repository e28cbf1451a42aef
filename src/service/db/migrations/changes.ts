import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** A column type that compares by bytes. */
export type Text = 'text' | 'text collate "C"'

/** Columns that follow each other: their type, and whatever is said of it, then their names. */
type Columns = [type: string, ...names: string[]]

/** What the changes of migrations are made of. A type that begins with `text` compares by bytes. */
export interface Changes {
  db: Kysely<unknown>
  /** On Postgres. */
  isServer: boolean
  addTable(name: string, columns: Columns[], ...constraints: string[]): Promise<void>
  addColumns(table: string, ...columns: Columns): Promise<void>
  addIndex(name: string, table: string, columns: string[], condition?: string): Promise<void>
}

/** As the type of a column. */
export const ofUser = 'references "users" ("id") on delete cascade'

export function migrationsOf(text: Text, changes: Record<string, (to: Changes) => Promise<void>>) {
  const migrations = Object.entries(changes).map(([name, change]): [string, Migration] => [
    name,
    { up: (db) => change(changesTo(db, text)) },
  ])
  return Object.fromEntries(migrations)
}

function changesTo(db: Kysely<unknown>, text: Text): Changes {
  const run = async (statement: RawBuilder<unknown>) => void (await statement.execute(db))
  const typed = ([type, ...names]: Columns) =>
    names.map((name) => sql`${sql.ref(name)} ${sql.raw(type.replace(/^text/, text))}`)
  return {
    db,
    isServer: text !== 'text',
    addTable(name, columns, ...constraints) {
      const parts = [...columns.flatMap(typed), ...constraints.map((constraint) => sql.raw(constraint))]
      return run(sql`create table ${sql.table(name)} (${sql.join(parts)})`)
    },
    async addColumns(table, ...columns) {
      for (const column of typed(columns)) await run(sql`alter table ${sql.table(table)} add column ${column}`)
    },
    addIndex(name, table, columns, condition) {
      const where = condition === undefined ? sql`` : sql.raw(` where ${condition}`)
      const on = sql.join(columns.map((column) => sql.ref(column)))
      return run(sql`create index ${sql.ref(name)} on ${sql.table(table)} (${on})${where}`)
    },
  }
}
