import { sql } from 'kysely'
import { flatMapInParts, inParts, pause } from '../../thread/loop.ts'
import type { Db, Trx } from '../engine/database.ts'
import { type Answer, inOrder, isOneOf, listed, type Placeholders, query, rowsOfStatement } from '../engine/query.ts'
import { table } from '../engine/table.ts'
import type { RecordsTable } from '../schema.ts'
import { type Ciphertext, ciphertexts } from './ciphertexts.ts'

/** A record with its ciphertext. */
export interface RecordRow extends RecordsTable {
  encrypted_data: string | null
}

export type EntityKey = Pick<RecordsTable, 'entity_type' | 'entity_id'>

/** An entity as a map key; unambiguous, because ids contain no control characters. */
export function entityKey({ entity_type, entity_id }: EntityKey): string {
  return `${entity_type}\0${entity_id}`
}

const records = table<RecordsTable>('records', {
  key: ['user_id', 'entity_type', 'entity_id'],
  alike: [
    'user_id',
    'entity_type',
    'deleted_at',
    'operation',
    'device_id',
    'conflict_resolved',
    'resolution_strategy',
    'overwritten',
  ],
  kept: ['created_at', 'deleted_at', 'first_stamp', 'first_ahead'],
  columns: {
    user_id: 'text',
    entity_type: 'text',
    entity_id: 'text',
    data_hash: 'text',
    created_at: 'bigint',
    updated_at: 'bigint',
    deleted_at: 'bigint',
    stamp: 'bigint',
    ahead: 'bigint',
    event_id: 'text',
    operation: 'text',
    timestamp: 'bigint',
    device_id: 'text',
    conflict_resolved: 'integer',
    resolution_strategy: 'text',
    overwritten: 'text',
    bytes: 'bigint',
    data_stamp: 'bigint',
    first_stamp: 'bigint',
    first_ahead: 'bigint',
    versions: 'integer',
  },
})

/** A stored record as it decides who wins. Without ciphertext: a push can concern 10,000 of 256 KiB each. */
export type Stored = Omit<RecordsTable, (typeof undecisive)[number]>

const undecisive = ['user_id', 'conflict_resolved', 'resolution_strategy'] as const
const storedColumns = Object.keys(records.columns).filter(
  (column) => !undecisive.some((name) => name === column),
) as (keyof Stored)[]

/** Nothing is kept of it, so that it may be forgotten. */
export function isEmptyTombstone({
  deleted_at,
  data_stamp,
  versions,
}: Pick<RecordsTable, 'deleted_at' | 'data_stamp' | 'versions'>): boolean {
  return deleted_at !== null && data_stamp === null && versions === 0
}

/** The records of the given entities, in the same order; undefined for unknown ones. */
export async function findStored(trx: Trx, userId: string, keys: EntityKey[]): Promise<(Stored | undefined)[]> {
  const [key, another] = keys
  // Of most writes it is one. A list costs SQLite more than the rest of the query.
  if (key && !another) {
    const { entity_type, entity_id } = key
    return [await oneStored.first(trx, { userId, entity_type, entity_id })]
  }
  const found: (Stored | undefined)[] = keys.map(() => undefined)
  const read = async ({ entity_type, ids, places }: PartOfType) => {
    await pause()
    const rows = await storedOf.all(trx, { userId, entity_type, ids })
    // Each keeps its place: a copy without it would take longer than deciding about the record.
    for (const row of rows) found[places[row.place] as number] = row
  }
  await inOrder(
    trx,
    partsOf(keys, rowsOfStatement).map((part) => () => read(part)),
  )
  return found
}

/** Does something for some entities of one type at once. */
export async function inPartsOfType(
  keys: EntityKey[],
  size: number,
  act: (part: PartOfType) => unknown,
): Promise<void> {
  await inParts(partsOf(keys, size), 1, ([part]) => act(part as PartOfType))
}

/** Like `flatMap`, in such parts. */
export async function flatMapOfType<Result>(
  keys: EntityKey[],
  size: number,
  map: (part: PartOfType) => Answer<Result[]>,
): Promise<Result[]> {
  return flatMapInParts(partsOf(keys, size), 1, ([part]) => map(part as PartOfType))
}

interface PartOfType extends Pick<EntityKey, 'entity_type'> {
  ids: string[]
  /** Of its keys among all. */
  places: number[]
}

/** At most `size` each, of one type. */
function partsOf(keys: EntityKey[], size: number): PartOfType[] {
  const parts: PartOfType[] = []
  const filling = new Map<string, PartOfType>()
  keys.forEach(({ entity_type, entity_id }, place) => {
    let part = filling.get(entity_type)
    if (!part || part.ids.length === size) {
      part = { entity_type, ids: [], places: [] }
      parts.push(part)
      filling.set(entity_type, part)
    }
    part.ids.push(entity_id)
    part.places.push(place)
  })
  return parts
}

/** True of the rows of an entity. */
export function isOf({ userId, entity_type, entity_id }: Placeholders<EntityKey & { userId: string }>) {
  return sql<boolean>`user_id = ${userId} and entity_type = ${entity_type} and entity_id = ${entity_id}`
}

/** True of the rows of some entities. */
export function isOfAny(db: Db, { userId, entity_type, ids }: Placeholders<IdsOfType>) {
  return sql<boolean>`user_id = ${userId} and entity_type = ${entity_type} and ${isOneOf(db, 'entity_id', ids)}`
}

/** Entities of one type, as a statement gets them. */
export interface IdsOfType extends Pick<PartOfType, 'entity_type' | 'ids'> {
  userId: string
}

const oneStored = query((db, key: Placeholders<EntityKey & { userId: string }>) =>
  db.selectFrom('records').select(storedColumns).where(isOf(key)),
)

const storedOf = query(
  (db, { userId, entity_type, ids }: Placeholders<IdsOfType>) => sql<Stored & { place: number }>`
    select key as place, ${sql.join(storedColumns.map((column) => sql.ref(column)))}
    from ${listed(db, ids)} cross join records
    where user_id = ${userId} and entity_type = ${entity_type} and entity_id = value`,
)

/** Entities of every type after the one with this key, deleted ones too, by key and without ciphertext. */
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

/** Writes the records, and the ciphertexts of those that have one of their own. `edits` are those that were live, and are. */
export async function saveRecords(
  trx: Trx,
  rows: RecordRow[],
  edits: ReadonlySet<RecordRow> = new Set(),
): Promise<void> {
  const others = rows.filter((row) => !edits.has(row))
  const later = others.filter((row) => !isFirst(row))
  await inOrder(trx, [
    () => records.edit(trx, [...edits]),
    () => records.insert(trx, others.filter(isFirst)),
    () => records.upsert(trx, later),
    () => ciphertexts.insert(trx, rows.filter(hasOwnCiphertext)),
  ])
}

/** Of its entity, which the transaction has looked for under the user's lock. */
function isFirst({ first_stamp, stamp }: RecordRow): boolean {
  return first_stamp === stamp
}

/** Such a row is also that of its ciphertext. */
function hasOwnCiphertext(row: RecordRow): row is RecordRow & Ciphertext {
  return row.data_stamp === row.stamp && row.encrypted_data !== null
}

/** These columns of the records after the sequence number `after`, in order. */
export function recordsAfter<Name extends keyof RecordsTable>(columns: readonly Name[]) {
  return query((db, { userId, after, rows }: Placeholders<{ userId: string; after: number; rows: number }>) =>
    db
      .selectFrom('records')
      .select(columns)
      .where('user_id', '=', userId)
      .where('stamp', '>', after)
      .orderBy('stamp')
      .limit(rows)
      .$castTo<Pick<RecordsTable, Name>>(),
  )
}
