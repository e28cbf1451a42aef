import { type RawBuilder, sql } from 'kysely'

/** A table whose rows are written by key. Both dialects build their statement from it, so columns are listed once. */
export interface Table<Row> {
  name: string
  key: Column<Row>[]
  /** With their Postgres types. */
  columns: Record<Column<Row>, 'text' | 'bigint' | 'integer'>
  /** Keep the value of the first write. */
  fixed?: Column<Row>[]
  /** Keep the stored value when the new one is null. */
  keptIfNull?: Column<Row>[]
}

type Column<Row> = keyof Row & string

export function columnsOf<Row>({ columns }: Table<Row>): Column<Row>[] {
  return Object.keys(columns) as Column<Row>[]
}

/** `INSERT INTO name (columns) source`, replacing rows with the same key. */
export function upsertFrom<Row>(table: Table<Row>, source: RawBuilder<unknown>): RawBuilder<unknown> {
  const { name, key, fixed = [], keptIfNull = [] } = table
  const columns = columnsOf(table)
  const replaced = columns.filter((column) => !key.includes(column) && !fixed.includes(column))
  const assignments = replaced.map((column) => {
    const given = sql.ref(`excluded.${column}`)
    const value = keptIfNull.includes(column) ? sql`coalesce(${given}, ${sql.ref(`${name}.${column}`)})` : given
    return sql`${sql.ref(column)} = ${value}`
  })
  const list = (names: string[]) => sql.join(names.map((column) => sql.ref(column)))
  return sql`insert into ${sql.table(name)} (${list(columns)}) ${source}
    on conflict (${list(key)}) do update set ${sql.join(assignments)}`
}
