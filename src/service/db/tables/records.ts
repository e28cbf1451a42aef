import { type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import { inOrder, isOneOf, listed, type Placeholders, query } from '../engine/query.ts'
import { table } from '../engine/table.ts'
import type { RecordsTable, VersionsTable } from '../schema.ts'
import { type Ciphertext, ciphertexts, isLong } from './ciphertexts.ts'

/** A record with its ciphertext, wherever that is stored. */
export type RecordRow = RecordsTable

export type EntityKey = Pick<RecordsTable, 'entity_type' | 'entity_id'>

/** The entity as a map key. Unambiguous, because ids contain no control characters. */
export function entityKey({ entity_type, entity_id }: EntityKey): string {
  return `${entity_type}\0${entity_id}`
}

const records = table<RecordsTable>('records', {
  key: ['user_id', 'entity_type', 'entity_id'],
  alike: [
    'user_id',
    'stored_at',
    'entity_type',
    'deleted_at',
    'operation',
    'device_id',
    'resolution_strategy',
    'overwritten',
    'recovered',
  ],
  kept: ['created_at', 'deleted_at', 'first_sequence', 'first_stored_at'],
  columns: {
    user_id: 'text',
    entity_type: 'text',
    entity_id: 'text',
    data_hash: 'text',
    created_at: 'bigint',
    updated_at: 'bigint',
    deleted_at: 'bigint',
    sequence: 'bigint',
    stored_at: 'bigint',
    event_id: 'text',
    operation: 'text',
    timestamp: 'bigint',
    device_id: 'text',
    resolution_strategy: 'text',
    overwritten: 'text',
    recovered: 'text',
    bytes: 'bigint',
    data_sequence: 'bigint',
    first_sequence: 'bigint',
    first_stored_at: 'bigint',
    others_sequence: 'bigint',
    versions: 'integer',
    encrypted_data: 'text',
  },
})

/** The columns of a record that a write reads. Not the ciphertext: a push can concern 500 records of 256 KiB. */
export type Stored = Omit<RecordsTable, (typeof leftOut)[number]>

const leftOut = ['user_id', 'resolution_strategy', 'encrypted_data'] as const
const storedColumns = Object.keys(records.columns).filter(
  (column) => !leftOut.some((name) => name === column),
) as (keyof Stored)[]

/** True for a deleted record without ciphertext and versions: it can be forgotten to make room. */
export function isEmptyTombstone({
  deleted_at,
  data_sequence,
  versions,
}: Pick<RecordsTable, 'deleted_at' | 'data_sequence' | 'versions'>): boolean {
  return deleted_at !== null && data_sequence === null && versions === 0
}

/** The records of these entities in the same order; undefined for unknown ones. */
export async function findStored(trx: Trx, userId: string, keys: EntityKey[]): Promise<(Stored | undefined)[]> {
  const [key, another] = keys
  // Most writes have a single entity. A list would cost SQLite more than the rest of the query.
  if (key && !another) {
    const { entity_type, entity_id } = key
    return [await oneStored.first(trx, { userId, entity_type, entity_id })]
  }
  const found = new Map<string, Stored>()
  for (const { entity_type, ids } of byType(keys))
    for (const row of await storedOf.all(trx, { userId, entity_type, ids })) found.set(entityKey(row), row)
  return keys.map((one) => found.get(entityKey(one)))
}

/** Entities of one type, as parameters of a statement. */
export interface OfType<Key extends EntityKey> extends Pick<EntityKey, 'entity_type'> {
  ids: string[]
  keys: Key[]
}

export function byType<Key extends EntityKey>(keys: Key[]): OfType<Key>[] {
  return [...Map.groupBy(keys, ({ entity_type }) => entity_type)].map(([entity_type, keys]) => {
    return { entity_type, ids: keys.map(({ entity_id }) => entity_id), keys }
  })
}

/** Matches the rows of an entity. */
export function isOf({ userId, entity_type, entity_id }: Placeholders<EntityKey & { userId: string }>) {
  return sql<boolean>`user_id = ${userId} and entity_type = ${entity_type} and entity_id = ${entity_id}`
}

/** The entity types named by a query parameter. */
export function typesIn(parameter: string): EntityKey['entity_type'][] {
  return parameter.split(',') as EntityKey['entity_type'][]
}

/** Entity types as one value, for `isOfTypes`. */
export function typeList(types: readonly EntityKey['entity_type'][]): string {
  return `,${types.join()},`
}

export const allTypes = typeList(['bookmark', 'history', 'group'])

/** Matches the types in a `typeList`. With an equality, the index by sequence number might not be used. */
export function isOfTypes(types: RawBuilder<string>) {
  return sql<boolean>`cast(${types} as text) like '%,' || entity_type || ',%'`
}

/** Matches the rows of several entities. */
export function isOfAny(db: Db, { userId, entity_type, ids }: Placeholders<IdsOfType>) {
  return sql<boolean>`user_id = ${userId} and entity_type = ${entity_type} and ${isOneOf(db, 'entity_id', ids)}`
}

/** The entities of one type whose rows a query needs, and their user. */
export interface IdsOfType extends Pick<OfType<EntityKey>, 'entity_type' | 'ids'> {
  userId: string
}

const oneStored = query((db, key: Placeholders<EntityKey & { userId: string }>) =>
  db.selectFrom('records').select(storedColumns).where(isOf(key)),
)

const storedOf = query(
  (db, { userId, entity_type, ids }: Placeholders<IdsOfType>) => sql<Stored>`
    select ${sql.join(storedColumns.map((column) => sql.ref(column)))}
    from ${listed(db, ids)} cross join records
    where user_id = ${userId} and entity_type = ${entity_type} and entity_id = value`,
)

/** Entities after this key, of all types and including deleted ones, ordered by key and without ciphertext. */
export const { all: listStored } = query(
  (db, { userId, entity_type, entity_id, limit }: Placeholders<EntityKey & { userId: string; limit: number }>) =>
    db
      .selectFrom('records')
      .select(storedColumns)
      .where('user_id', '=', userId)
      .where(sql<boolean>`(entity_type, entity_id) > (${entity_type}, ${entity_id})`)
      .orderBy('entity_type')
      .orderBy('entity_id')
      .limit(limit)
      .$castTo<Stored>(),
)

/**
 * Writes records, and new ciphertexts. `edits` are the rows of records that were live before and still are. `replaced`
 * are the versions that the rows replace, and that keep their ciphertexts.
 */
export async function saveRecords(
  trx: Trx,
  rows: RecordRow[],
  edits: RecordRow[] = [],
  replaced: VersionsTable[] = [],
): Promise<void> {
  const edited = new Set(edits)
  const others = rows.filter((row) => !edited.has(row))
  const later = others.filter((row) => !isFirst(row))
  await inOrder(trx, [
    () => keepShort(trx, replaced),
    () => records.edit(trx, edits.map(withoutLong)),
    () => records.insert(trx, others.filter(isFirst).map(withoutLong)),
    () => records.upsert(trx, later.map(withoutLong)),
    () => ciphertexts.insert(trx, rows.filter(hasLong)),
  ])
}

/** Moves short ciphertexts of records that are about to be replaced into `ciphertexts`. */
async function keepShort(trx: Trx, replaced: VersionsTable[]): Promise<void> {
  const short = replaced.filter((version) => version.data_sequence !== null && !isLong(version))
  const [one, another] = short
  if (!one) return
  const { user_id: userId, entity_type, entity_id } = one
  const ofTypes = byType(short).map(
    ({ entity_type, ids }) =>
      () =>
        someKept.run(trx, { userId, entity_type, ids }),
  )
  // Begins all in one turn of the event loop. Later ones would reach Postgres after the records are overwritten.
  await inOrder(trx, another ? ofTypes : [() => oneKept.run(trx, { userId, entity_type, entity_id })])
}

const oneKept = query((_, key: Placeholders<EntityKey & { userId: string }>) => keep(isOf(key)))
const someKept = query((db, keys: Placeholders<IdsOfType>) => keep(isOfAny(db, keys)))

function keep(isReplaced: RawBuilder<boolean>) {
  return sql`insert into ciphertexts (user_id, sequence, encrypted_data)
    select user_id, data_sequence, encrypted_data from records where ${isReplaced} and encrypted_data is not null`
}

/** True if the entity had no record before. The transaction has checked that under the user's lock. */
function isFirst({ first_sequence, sequence }: RecordRow): boolean {
  return first_sequence === sequence
}

/** True if the row comes with a new ciphertext that is too long for a record. */
function hasLong(row: RecordRow): row is RecordRow & Ciphertext {
  return row.encrypted_data !== null && isLong(row)
}

function withoutLong(row: RecordRow): RecordRow {
  return hasLong(row) ? { ...row, encrypted_data: null } : row
}

/** A query for these columns of a user's records after the sequence number `after`, ordered by it. */
export function recordsAfter<Name extends keyof RecordsTable>(columns: readonly Name[]) {
  return query((db, { userId, after, rows }: Placeholders<{ userId: string; after: number; rows: number }>) =>
    db
      .selectFrom('records')
      .select(columns)
      .where('user_id', '=', userId)
      .where('sequence', '>', after)
      .orderBy('sequence')
      .limit(rows)
      .$castTo<Pick<RecordsTable, Name>>(),
  )
}
