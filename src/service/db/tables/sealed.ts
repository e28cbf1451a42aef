import { sql } from 'kysely'
import type { Binding, Seal } from '../../seal/seal.ts'
import type { Db, Trx } from '../engine/database.ts'
import { attemptRead } from '../engine/probe.ts'

/** A column of values that seal/seal.ts seals. Each value is bound to its row and to the row's user. */
export interface SealedColumn {
  table: 'users' | 'logins' | 'exports' | 'keyring_versions'
  userId: 'id' | 'user_id'
  column: string
  purpose: Binding['purpose']
}

/** All sealed columns: one that is missing here would stay under the old SECRET_KEY. */
export const sealedColumns: SealedColumn[] = [
  { table: 'users', userId: 'id', column: 'export_key_sealed', purpose: 'export-key' },
  { table: 'logins', userId: 'user_id', column: 'provider_token_sealed', purpose: 'provider-token' },
  { table: 'exports', userId: 'user_id', column: 'key_sealed', purpose: 'export-key' },
  { table: 'keyring_versions', userId: 'user_id', column: 'keyring_sealed', purpose: 'keyring-version' },
]

const sampleRows = 100

export interface SealedValue {
  id: string
  userId: string
  sealed: string
}

/** The next values by user and id, without rows that have none, such as those of deleted accounts. */
export async function listSealed(
  db: Db,
  { table, userId, column }: SealedColumn,
  after: Pick<SealedValue, 'userId' | 'id'> | undefined,
  limit: number,
): Promise<SealedValue[]> {
  const user = sql.ref(userId)
  const { rows } = await sql<SealedValue>`
    select id, ${user} as ${sql.ref('userId')}, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where (${user}, id) > (${after?.userId ?? ''}, ${after?.id ?? ''}) and ${sql.ref(column)} <> ''
    order by ${user}, id limit ${limit}`.execute(db)
  return rows
}

export type SealedKey = Pick<SealedValue, 'userId' | 'id'>

/** The keys of the next rows, with or without a value. An index has them, even if the rows are damaged. */
export async function listSealedKeys(
  db: Db,
  { table, userId }: SealedColumn,
  after: SealedKey | undefined,
  limit: number,
): Promise<SealedKey[]> {
  const user = sql.ref(userId)
  const { rows } = await sql<SealedKey>`
    select id, ${user} as ${sql.ref('userId')} from ${sql.table(table)}
    where (${user}, id) > (${after?.userId ?? ''}, ${after?.id ?? ''}) order by ${user}, id limit ${limit}`.execute(db)
  return rows
}

/** Undefined if the row has no value. */
export async function findSealed(
  db: Db,
  { table, userId: user, column }: SealedColumn,
  { userId, id }: SealedKey,
): Promise<SealedValue | undefined> {
  const { rows } = await sql<{ sealed: string }>`
    select ${sql.ref(column)} as sealed from ${sql.table(table)}
    where ${sql.ref(user)} = ${userId} and id = ${id} and ${sql.ref(column)} <> ''`.execute(db)
  return rows[0] && { userId, id, ...rows[0] }
}

interface Sample {
  tried: number
  opens: number
  /** Set if some values could not be read. */
  damage: Error | undefined
}

/** Tries to open some values of each column. Without `seal`, none opens. */
export async function sampleSeals(db: Db, seal: Pick<Seal, 'open'> | undefined): Promise<Sample> {
  const sample: Sample = { tried: 0, opens: 0, damage: undefined }
  for (const column of sealedColumns) {
    const bindingOf = bindingsOf(column)
    const { value: values = [], damage } = await attemptRead(() => sampleSealed(db, column))
    sample.tried += values.length
    sample.opens += values.filter((value) => seal?.open(value.sealed, bindingOf(value))).length
    sample.damage ??= damage
  }
  return sample
}

export function bindingsOf({ purpose }: SealedColumn): (value: SealedValue) => Binding {
  return ({ id, userId }) => ({ purpose, userId, rowId: id })
}

/** Some values, read in constant time however large the table is. */
async function sampleSealed(db: Db, { table, userId, column }: SealedColumn): Promise<SealedValue[]> {
  const { rows } = await sql<SealedValue>`
    select * from (
      select id, ${sql.ref(userId)} as ${sql.ref('userId')}, ${sql.ref(column)} as sealed from ${sql.table(table)}
      limit ${sampleRows}
    ) as sample where sealed <> ''`.execute(db)
  return rows
}

/** Replaces the value if it has not changed since it was read. Returns false if it has. */
export async function replaceSealed(
  trx: Trx,
  { table, userId: user, column }: SealedColumn,
  { id, userId, sealed }: SealedValue,
  replacement: string,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update ${sql.table(table)} set ${sql.ref(column)} = ${replacement}
    where ${sql.ref(user)} = ${userId} and id = ${id} and ${sql.ref(column)} = ${sealed}`.execute(trx)
  return numAffectedRows === 1n
}
