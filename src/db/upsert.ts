import { type RawBuilder, sql } from 'kysely'
import { type Placeholders, type Query, query } from './query.ts'

/** A table whose rows are written by key. Both dialects' statements are built from it, so columns are listed once. */
export interface Table<Row> {
  columns: Columns<Row>
  /** Replaces the row with the same key. */
  upsertRow: Query<Row, unknown>
  /** Does so for `rowsAtOnce` rows, on SQLite. */
  upsertSome: Batch<Row>
  /** For such as agree in some columns, most of which rows written together do. */
  upsertAlike: Batch<Row>
  /** Does so for all rows at once, on Postgres, from an array of each column. No two may have the same key. */
  upsertRows: Query<Arrays<Row>, unknown>
}

interface Batch<Row> {
  /** The columns in which all of its rows agree. Binding their values once saves as much as writing them costs. */
  shared: Column<Row>[]
  own: Column<Row>[]
  /** Its values are those of the shared columns, then each row's own. */
  query: Query<unknown[], unknown>
}

export type Arrays<Row> = { [Column in keyof Row]: Row[Column][] }

/** Running a statement and binding its values cost as much as writing a row. More than this saves no more. */
export const rowsAtOnce = 50

type Column<Row> = keyof Row & string
/** With their Postgres types. */
type Columns<Row> = Record<Column<Row>, 'text' | 'bigint' | 'integer'>

/** Without a key, no row has a successor: each is only added, which costs less than to look for one to replace. */
export function table<Row>(name: string, key: Column<Row>[], alike: Column<Row>[], columns: Columns<Row>): Table<Row> {
  const all = columnsOf(columns)
  const upsert = (source: RawBuilder<unknown>) => {
    const replaced = all.filter((column) => !key.includes(column))
    const assignments = replaced.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`)
    const insert = sql`insert into ${sql.table(name)} (${list(all)}) ${source}`
    if (key.length === 0) return insert
    return sql`${insert} on conflict (${list(key)}) do update set ${sql.join(assignments)}`
  }
  const batch = (alike: Column<Row>[]): Batch<Row> => {
    const shared = all.filter((column) => alike.includes(column))
    const own = all.filter((column) => !alike.includes(column))
    const statement = (_: unknown, values: Placeholders<unknown[]>) => {
      const row = (from: number) => sql`(${sql.join(own.map((_, place) => values[from + place]))})`
      const rows = Array.from({ length: rowsAtOnce }, (_, index) => row(shared.length + index * own.length))
      const source = (column: Column<Row>) =>
        alike.includes(column) ? values[shared.indexOf(column)] : sql.ref(`column${own.indexOf(column) + 1}`)
      // Without a condition, SQLite would take the `on` of a conflict for that of a join.
      return upsert(sql`select ${sql.join(all.map(source))} from (values ${sql.join(rows)}) where true`)
    }
    return { shared, own, query: query(statement) }
  }
  return {
    columns,
    upsertRow: query((_, row: Placeholders<Row>) =>
      upsert(sql`values (${sql.join(all.map((column) => row[column]))})`),
    ),
    upsertSome: batch([]),
    upsertAlike: batch(alike),
    upsertRows: query((_, rows: Placeholders<Arrays<Row>>) => {
      const arrays = all.map((column) => sql`${rows[column]}::${sql.raw(columns[column])}[]`)
      return upsert(sql`select * from unnest(${sql.join(arrays)})`)
    }),
  }
}

export function columnsOf<Row>(columns: Columns<Row>): Column<Row>[] {
  return Object.keys(columns) as Column<Row>[]
}

function list(names: string[]) {
  return sql.join(names.map((name) => sql.ref(name)))
}
