import { type RawBuilder, sql } from 'kysely'

/** A table whose rows are written by key. Both dialects build their statement from it, so columns are listed once. */
export interface Table<Row> {
  name: string
  key: Column<Row>[]
  /** With their Postgres types. */
  columns: Record<Column<Row>, 'text' | 'bigint' | 'integer'>
}

type Column<Row> = keyof Row & string

export function columnsOf<Row>({ columns }: Table<Row>): Column<Row>[] {
  return Object.keys(columns) as Column<Row>[]
}

/** `INSERT INTO name (columns) source`, replacing rows with the same key. */
export function upsertFrom<Row>(table: Table<Row>, source: RawBuilder<unknown>): RawBuilder<unknown> {
  const { name, key } = table
  const columns = columnsOf(table)
  const replaced = columns.filter((column) => !key.includes(column))
  const assignments = replaced.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`)
  const list = (names: string[]) => sql.join(names.map((column) => sql.ref(column)))
  return sql`insert into ${sql.table(name)} (${list(columns)}) ${source}
    on conflict (${list(key)}) do update set ${sql.join(assignments)}`
}
