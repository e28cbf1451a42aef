import { type RawBuilder, sql } from 'kysely'
import type { Trx } from './database.ts'
import { type Placeholders, type Query, query } from './query.ts'

/** Writes rows of a table on both databases, with one list of its columns. */
export interface Table<Row> {
  /** The columns and their Postgres types. */
  columns: Columns<Row>
  /** Adds rows whose keys are new. An upsert would spend a quarter of its time looking for existing rows. */
  insert: Write<Row>
  /** Inserts rows, or replaces those with the same key. Keys must differ within the given rows. */
  upsert: Write<Row>
  /** Replaces existing rows that agree with the new ones in the table's `kept` columns. */
  edit: Write<Row>
}

type Write<Row> = (trx: Trx, rows: Row[]) => Promise<void>

/** How a database writes many rows. Its adapter implements this. */
export interface RowWriter {
  writeRows<Row>(trx: Trx, statements: Statements<Row>, rows: Row[]): Promise<void>
}

/** One statement in three forms: for one row and for `rowsAtOnce` rows on SQLite, and for any number on Postgres. */
export interface Statements<Row> {
  columns: Columns<Row>
  one: Query<Row, unknown>
  some: Batches<Row>
  all: Batches<Row>
}

interface Batches<Row> {
  any: Batch<Row>
  /** For rows that agree in some columns, as most rows written together do. */
  alike: Batch<Row>
}

export interface Batch<Row> {
  /** Columns in which all rows agree. Binding their values once halves the cost of a row. */
  shared: Column<Row>[]
  own: Column<Row>[]
  /** Its parameters: a value per shared column, then each row's others (SQLite) or a list per column (Postgres). */
  query: Query<unknown[], unknown>
}

/** Rows per SQLite statement. Running one costs as much as writing a row, so larger statements would save little. */
export const rowsAtOnce = 50

type Column<Row> = keyof Row & string
export type ColumnType = 'text' | 'bigint' | 'integer'
type Columns<Row> = Record<Column<Row>, ColumnType>

interface Layout<Row> {
  /** Undefined if this never replaces rows. */
  key?: Column<Row>[]
  /** Columns in which rows that are written together mostly agree. */
  alike: Column<Row>[]
  /** Columns that `edit` leaves unchanged, so that it need not update their indexes. */
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
        // `or fail` saves copying each page to undo only this statement: a failure undoes the whole write.
        insert([...shared, ...own], selectSome(shared, own, values), sql`or fail`),
      ),
      all: fromArrays(insert),
    }),
    upsert: write({
      columns,
      one: query((_, row: Placeholders<Row>) => upsert(all, valuesOf(row))),
      some: batches(all, alike, (shared, own, values) =>
        // The condition keeps SQLite from taking `on conflict` for the `on` of a join.
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
        // `or fail`, as in `insert`: a failure undoes the whole write.
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

/** The values as a table, for SQLite. */
function selectSome<Row>(shared: Column<Row>[], own: Column<Row>[], values: Values): RawBuilder<unknown> {
  const row = (from: number) => sql`(${sql.join(own.map((_, place) => values[from + place]))})`
  const rows = Array.from({ length: rowsAtOnce }, (_, index) => row(shared.length + index * own.length))
  const sharedValues = shared.map((column, place) => sql`${values[place]} as ${sql.ref(column)}`)
  const ownValues = own.map((column, place) => sql`${sql.ref(`column${place + 1}`)} as ${sql.ref(column)}`)
  return sql`select ${sql.join([...sharedValues, ...ownValues])} from (values ${sql.join(rows)})`
}

/** Chooses the statement that fits these rows. */
export function batchFor<Row>({ any, alike }: Batches<Row>, [first, ...others]: Row[]): Batch<Row> {
  const isAlike = alike.shared.every((column) => others.every((row) => row[column] === first?.[column]))
  return isAlike ? alike : any
}
