import { type RawBuilder, sql } from 'kysely'
import { type Placeholders, type Query, query } from './query.ts'

/** What writes the rows of a table, on both databases: its columns are listed once. */
export interface Table<Row> {
  columns: Columns<Row>
  /** Writes a row, which replaces the one with the same key. */
  upsertRow: Query<Row, unknown>
  /** The same for `rowsAtOnce` rows, on SQLite. */
  upsertSome: Batches<Row>
  /** Writes a row whose key is new. */
  insertRow: Query<Row, unknown>
  /** The same for `rowsAtOnce` rows, on SQLite. */
  insertSome: Batches<Row>
  /** Writes rows, each of which replaces the one with its key, on Postgres. No two may have the same key. */
  upsertAll: Batches<Row>
  /** Writes rows whose keys are new, on Postgres: looking for a row to replace is a quarter of the work. */
  insertAll: Batches<Row>
}

export interface Batches<Row> {
  any: Batch<Row>
  /** For such as agree in some columns, most of which rows written together do. */
  alike: Batch<Row>
}

export interface Batch<Row> {
  /** The columns in which all of its rows agree. Binding their values once saves as much as writing them costs. */
  shared: Column<Row>[]
  own: Column<Row>[]
  /** Its values are those of the shared columns, then on SQLite each row's own, on Postgres an array of each column's. */
  query: Query<unknown[], unknown>
}

/** Running a statement and binding its values cost as much as writing a row. More than this saves no more. */
export const rowsAtOnce = 50

export type Column<Row> = keyof Row & string
export type ColumnType = 'text' | 'bigint' | 'integer'
/** With their Postgres types. */
type Columns<Row> = Record<Column<Row>, ColumnType>

/** Without a key, no row has a successor: each is only inserted. */
export function table<Row>(name: string, key: Column<Row>[], alike: Column<Row>[], columns: Columns<Row>): Table<Row> {
  const all = columnsOf(columns)
  const insert = (into: Column<Row>[], source: RawBuilder<unknown>, onFault = sql``) =>
    sql`insert ${onFault} into ${sql.table(name)} (${list(into)}) ${source}`
  const upsert = (into: Column<Row>[], source: RawBuilder<unknown>) => {
    const replaced = all.filter((column) => !key.includes(column))
    const assignments = replaced.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`)
    return sql`${insert(into, source)} on conflict (${list(key)}) do update set ${sql.join(assignments)}`
  }
  const fromArrays = (write: typeof insert) =>
    batches(all, alike, (shared, own, values) => {
      const value = (column: Column<Row>, place: number, dimension = '') =>
        sql`${values[place]}::${sql.raw(columns[column] + dimension)}`
      const arrays = own.map((column, index) => value(column, shared.length + index, '[]'))
      const selected = [...shared.map((column, index) => value(column, index)), sql`each_row.*`]
      return write([...shared, ...own], sql`select ${sql.join(selected)} from unnest(${sql.join(arrays)}) as each_row`)
    })
  const valuesOf = (row: Placeholders<Row>) => sql`values (${sql.join(all.map((column) => row[column]))})`
  return {
    columns,
    upsertRow: query((_, row: Placeholders<Row>) => upsert(all, valuesOf(row))),
    insertRow: query((_, row: Placeholders<Row>) => insert(all, valuesOf(row))),
    upsertSome: batches(all, alike, (shared, own, values) =>
      // Without a condition, SQLite would take the `on` of a conflict for that of a join.
      upsert([...shared, ...own], sql`${selectSome(shared, own, values)} where true`),
    ),
    insertSome: batches(all, alike, (shared, own, values) =>
      // If it fails, the transaction is undone: SQLite would otherwise copy each page first, to undo it alone.
      insert([...shared, ...own], selectSome(shared, own, values), sql`or fail`),
    ),
    upsertAll: fromArrays(upsert),
    insertAll: fromArrays(insert),
  }
}

type Values = Placeholders<unknown[]>

export function batches<Row>(
  columns: Column<Row>[],
  alike: Column<Row>[],
  build: (shared: Column<Row>[], own: Column<Row>[], values: Values) => RawBuilder<unknown>,
): Batches<Row> {
  const batch = (alike: Column<Row>[]): Batch<Row> => {
    const shared = columns.filter((column) => alike.includes(column))
    const own = columns.filter((column) => !alike.includes(column))
    return { shared, own, query: query((_, values: Values) => build(shared, own, values)) }
  }
  return { any: batch([]), alike: batch(alike) }
}

/** The values as rows, on SQLite. */
export function selectSome<Row>(shared: Column<Row>[], own: Column<Row>[], values: Values): RawBuilder<unknown> {
  const row = (from: number) => sql`(${sql.join(own.map((_, place) => values[from + place]))})`
  const rows = Array.from({ length: rowsAtOnce }, (_, index) => row(shared.length + index * own.length))
  const sharedValues = shared.map((column, place) => sql`${values[place]} as ${sql.ref(column)}`)
  const ownValues = own.map((column, place) => sql`${sql.ref(`column${place + 1}`)} as ${sql.ref(column)}`)
  return sql`select ${sql.join([...sharedValues, ...ownValues])} from (values ${sql.join(rows)})`
}

/** The one that the rows need. */
export function batchFor<Row>({ any, alike }: Batches<Row>, [first, ...others]: Row[]): Batch<Row> {
  const isAlike = alike.shared.every((column) => others.every((row) => row[column] === first?.[column]))
  return isAlike ? alike : any
}

export function columnsOf<Row>(columns: Columns<Row>): Column<Row>[] {
  return Object.keys(columns) as Column<Row>[]
}

function list(names: string[]) {
  return sql.join(names.map((name) => sql.ref(name)))
}
