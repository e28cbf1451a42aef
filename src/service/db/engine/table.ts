import { type RawBuilder, sql } from 'kysely'
import type { Trx } from './database.ts'
import { type Placeholders, type Query, query } from './query.ts'

/** Writes rows of a table, on both databases: its columns are listed once. */
export interface Table<Row> {
  /** The columns and their Postgres types. */
  columns: Columns<Row>
  /** Adds rows, whose keys must be new: looking for a row to replace is a quarter of the work. */
  insert: Write<Row>
  /** Writes the rows, each replacing the one with its key. No two of the given rows may have the same key. */
  upsert: Write<Row>
  /** Replaces rows that are there by later ones, which agree with them in the table's `kept` columns. */
  edit: Write<Row>
}

type Write<Row> = (trx: Trx, rows: Row[]) => Promise<void>

/** How a database writes many rows: its adapter does. */
export interface RowWriter {
  writeRows<Row>(trx: Trx, statements: Statements<Row>, rows: Row[]): Promise<void>
}

/** The same for one row and `rowsAtOnce` rows, on SQLite, and for all at once, on Postgres. */
export interface Statements<Row> {
  columns: Columns<Row>
  one: Query<Row, unknown>
  some: Batches<Row>
  all: Batches<Row>
}

interface Batches<Row> {
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

type Column<Row> = keyof Row & string
export type ColumnType = 'text' | 'bigint' | 'integer'
type Columns<Row> = Record<Column<Row>, ColumnType>

interface Layout<Row> {
  /** A table that has no key has no successors of rows: each is only inserted. */
  key?: Column<Row>[]
  /** In which rows that are written together mostly agree. */
  alike: Column<Row>[]
  /** Which an edit leaves as they are, so that the row's place in the indexes on them stays. */
  kept?: Column<Row>[]
  columns: Columns<Row>
}

export function table<Row>(name: string, { key = [], alike, kept = [], columns }: Layout<Row>): Table<Row> {
  const all = Object.keys(columns) as Column<Row>[]
  const replaced = all.filter((column) => !key.includes(column))
  const edited = replaced.filter((column) => !kept.includes(column))
  const { ref } = sql

  const insert = (into: Column<Row>[], source: RawBuilder<unknown>, onFault = sql``) =>
    sql`insert ${onFault} into ${sql.table(name)} (${sql.join(into.map(ref))}) ${source}`
  const upsert = (into: Column<Row>[], source: RawBuilder<unknown>) => {
    const assignments = replaced.map((column) => sql`${ref(column)} = ${ref(`excluded.${column}`)}`)
    return sql`${insert(into, source)} on conflict (${sql.join(key.map(ref))}) do update set ${sql.join(assignments)}`
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
  const upsertAll = fromArrays(upsert)
  const write = (statements: Statements<Row>) => async (trx: Trx, rows: Row[]) => {
    const { adapter } = trx.getExecutor()
    if (rows.length > 0) await (adapter as object as RowWriter).writeRows(trx, statements, rows)
  }
  return {
    columns,
    insert: write({
      columns,
      one: query((_, row: Placeholders<Row>) => insert(all, valuesOf(row))),
      some: batches(all, alike, (shared, own, values) =>
        // If it fails, the transaction is undone: SQLite would otherwise copy each page first, to undo it alone.
        insert([...shared, ...own], selectSome(shared, own, values), sql`or fail`),
      ),
      all: fromArrays(insert),
    }),
    upsert: write({
      columns,
      one: query((_, row: Placeholders<Row>) => upsert(all, valuesOf(row))),
      some: batches(all, alike, (shared, own, values) =>
        // If there is no condition, SQLite takes the `on` of a conflict for that of a join.
        upsert([...shared, ...own], sql`${selectSome(shared, own, values)} where true`),
      ),
      all: upsertAll,
    }),
    edit: write({
      columns,
      one: query((_, row: Placeholders<Row>) => {
        const set = edited.map((column) => sql`${ref(column)} = ${row[column]}`)
        const isSame = key.map((column) => sql`${ref(column)} = ${row[column]}`)
        return sql`update ${sql.table(name)} set ${sql.join(set)} where ${sql.join(isSame, sql` and `)}`
      }),
      some: batches([...key, ...edited], alike, (shared, own, values) => {
        const set = edited.map((column) => sql`${ref(column)} = ${ref(`later.${column}`)}`)
        const isSame = key.map((column) => sql`${ref(`${name}.${column}`)} = ${ref(`later.${column}`)}`)
        // Here, too, the transaction is undone if it fails.
        return sql`update or fail ${sql.table(name)} set ${sql.join(set)}
          from (${selectSome(shared, own, values)}) as later where ${sql.join(isSame, sql` and `)}`
      }),
      all: upsertAll,
    }),
  }
}

type Values = Placeholders<unknown[]>

function batches<Row>(
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
function selectSome<Row>(shared: Column<Row>[], own: Column<Row>[], values: Values): RawBuilder<unknown> {
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
