import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { ConfigError } from '../../config/values.ts'
import type { Db, Trx } from '../../db/engine/database.ts'

/** One of the two databases, in a transaction. The source's has a fixed snapshot. */
export interface Side {
  trx: Trx
  isServer: boolean
}

export interface TableOf {
  name: string
  columns: string[]
}

export type Row = Record<string, string | number | null>

/** Rows in memory at once: 50 MiB with the largest ciphertexts. */
const rowsAtOnce = 200

/** The tables of this service's schema. Users and logins come first, because other tables refer to them. */
export async function listTables(trx: Db): Promise<TableOf[]> {
  // Citus adds views.
  const found = (await trx.introspection.getTables()).filter(({ isView }) => !isView)
  const tables = found.map(({ name, columns }) => ({ name, columns: columns.map((column) => column.name) }))
  const rank = ({ name }: TableOf) => ['logins', 'users'].indexOf(name)
  return tables.sort((one, other) => rank(other) - rank(one))
}

/** Reads all rows of a table in pages, except tokens of a login that the shell `sqlite3` has deleted without them. */
export async function* readRows({ trx, isServer }: Side, { name, columns }: TableOf): AsyncGenerator<Row[]> {
  const selected = sql`select ${sql.join(columns.map((column) => sql.ref(column)))}`
  if (isServer) {
    await sql`declare moved no scroll cursor for ${selected} from ${sql.table(name)}`.execute(trx)
    const fetch = sql<Row>`fetch ${sql.lit(rowsAtOnce)} from moved`
    for (let { rows } = await fetch.execute(trx); rows.length > 0; { rows } = await fetch.execute(trx)) yield rows
    await sql`close moved`.execute(trx)
    return
  }
  const isWhole = name === 'tokens' ? sql`(user_id, login_id) in (select user_id, id from logins)` : sql`true`
  for (let after = 0; ; ) {
    const { rows } = await sql<Row & { row_id: number }>`${selected}, rowid as row_id from ${sql.table(name)}
      where rowid > ${after} and ${isWhole} order by rowid limit ${sql.lit(rowsAtOnce)}`.execute(trx)
    const last = rows.at(-1)
    if (!last) return
    after = last.row_id
    yield rows
  }
}

/** Inserts rows as one parameter, so that tables of any width work. The database knows the columns' types. */
export async function insertRows({ trx, isServer }: Side, { name, columns }: TableOf, rows: Row[]): Promise<void> {
  const into = sql`insert into ${sql.table(name)} (${sql.join(columns.map((column) => sql.ref(column)))})`
  const json = JSON.stringify(rows)
  if (isServer) {
    const all = sql`json_populate_recordset(null::${sql.table(name)}, ${json}::json)`
    await sql`${into} select ${sql.join(columns.map((column) => sql.ref(column)))} from ${all}`.execute(trx)
    return
  }
  const values = columns.map((column) => sql`value ->> ${sql.lit(column)}`)
  await sql`${into} select ${sql.join(values)} from json_each(${json})`.execute(trx)
}

/** A checksum of all rows of a table, in any order. */
export interface Sum {
  rows: number
  /** The XOR of the SHA-256 of each row. */
  hash: Uint8Array
}

export function emptySum(): Sum {
  return { rows: 0, hash: new Uint8Array(32) }
}

export function addRows(sum: Sum, { columns }: TableOf, rows: Row[]): void {
  sum.rows += rows.length
  for (const row of rows) {
    const hash = createHash('sha256').update(JSON.stringify(columns.map((column) => row[column])))
    for (const [index, byte] of hash.digest().entries()) sum.hash[index] = (sum.hash[index] ?? 0) ^ byte
  }
}

export function isSameSum(one: Sum, other: Sum): boolean {
  return one.rows === other.rows && Buffer.compare(one.hash, other.hash) === 0
}

/** Refuses if instances are connected: on Postgres they have no lock, but their connections are visible. */
export async function requireNoInstance(trx: Trx, name: string): Promise<void> {
  const { rows } = await sql`select from pg_stat_activity where datname = current_database()
    and application_name like 'encrypted-bookmark-sync%' and pid <> pg_backend_pid()`.execute(trx)
  if (rows.length === 0) return
  throw new ConfigError(
    `${name} is in use by ${rows.length} connections of this service: stop all instances (a pooler keeps its own for some minutes)`,
  )
}
