import { sql } from 'kysely'
import { pause } from '../event-loop.ts'
import type { Database, Trx } from './database.ts'
import { type Placeholders, query } from './query.ts'
import { type EntityKey, records, type StoredVersion, versionColumns } from './rows.ts'
import type { RecordsTable } from './schema.ts'
import { columnsOf, rowsAtOnce, type Table } from './upsert.ts'

/** Reading so many versions takes some milliseconds. */
const maxKeys = 1000

/** Works on some rows at a time, and the event loop turns in between. */
export const sqliteBatches: Pick<
  Database,
  'findVersions' | 'upsert' | 'edit' | 'settleEntities' | 'removeCiphertexts'
> = {
  async findVersions(trx, userId, keys) {
    const found: (StoredVersion | undefined)[] = keys.map(() => undefined)
    for (const { entity_type, places } of partsOf(keys)) {
      await pause()
      const ids = places.map((place) => keys[place]?.entity_id as string)
      const rows = await versions.all(trx, { userId, entity_type, ids })
      for (const row of rows) found[places[row.place] as number] = row
    }
    return found
  },

  async upsert<Row>(trx: Trx, table: Table<Row>, rows: Row[]) {
    const rest = rows.length % rowsAtOnce
    for (let to = rowsAtOnce; to <= rows.length; to += rowsAtOnce) {
      await pause()
      const some = rows.slice(to - rowsAtOnce, to)
      const { shared, own, query } = isAlike(some, table.upsertAlike.shared) ? table.upsertAlike : table.upsertSome
      await query.run(trx, [...valuesOf(some.slice(0, 1), shared), ...valuesOf(some, own)])
    }
    await table.upsertRow.runEach(trx, rows.slice(rows.length - rest))
  },

  edit: (trx, rows) => edited.runEach(trx, rows),

  /** Works on a set, because most of the entities have no open conflict. */
  async settleEntities(trx, userId, keys) {
    if (keys.length === 0) return
    const written = JSON.stringify(keys.map(({ entity_type, entity_id }) => [entity_type, entity_id]))
    await settled.run(trx, { userId, written })
  },

  removeCiphertexts: (trx, userId, stamps) =>
    removed.runEach(
      trx,
      stamps.map((stamp) => ({ userId, stamp })),
    ),
}

interface Part extends Pick<EntityKey, 'entity_type'> {
  /** Of its keys among all. */
  places: number[]
}

/** At most `maxKeys` each, of one type. */
function partsOf(keys: EntityKey[]): Part[] {
  const parts: Part[] = []
  for (const [place, { entity_type }] of keys.entries()) {
    let part = parts.findLast((part) => part.entity_type === entity_type)
    if (!part || part.places.length === maxKeys) {
      part = { entity_type, places: [] }
      parts.push(part)
    }
    part.places.push(place)
  }
  return parts
}

function isAlike<Row>([first, ...others]: Row[], columns: (keyof Row)[]): boolean {
  return columns.every((column) => others.every((row) => row[column] === first?.[column]))
}

function valuesOf<Row>(rows: Row[], columns: (keyof Row)[]): unknown[] {
  const values = new Array(rows.length * columns.length)
  let place = 0
  for (const row of rows) for (const column of columns) values[place++] = row[column]
  return values
}

interface Wanted extends Pick<EntityKey, 'entity_type'> {
  userId: string
  ids: string[]
}

const versions = query(
  (_, { userId, entity_type, ids }: Placeholders<Wanted>) => sql<StoredVersion & { place: number }>`
    select key as place, ${sql.join(versionColumns.map((column) => sql.ref(column)))}
    from json_each(${ids}) cross join records
    where user_id = ${userId} and entity_type = ${entity_type} and entity_id = value`,
)

/**
 * What stays as it is, and with it the row's place in the indexes on it. A statement for many rows would first copy each
 * page that it changes, in case it fails.
 */
const kept = ['user_id', 'entity_type', 'entity_id', 'created_at', 'deleted_at', 'first_stamp']
const changed = columnsOf(records.columns).filter((column) => !kept.includes(column))

const edited = query(
  (_, row: Placeholders<RecordsTable>) => sql`
    update records set ${sql.join(changed.map((column) => sql`${sql.ref(column)} = ${row[column]}`))}
    where user_id = ${row.user_id} and entity_type = ${row.entity_type} and entity_id = ${row.entity_id}`,
)

const settled = query(
  (_, { userId, written }: Placeholders<{ userId: string; written: string }>) => sql`
    delete from rejections
    where user_id = ${userId} and (entity_type, entity_id) in (select value ->> 0, value ->> 1 from json_each(${written}))`,
)

const removed = query((db, { userId, stamp }: Placeholders<{ userId: string; stamp: number }>) =>
  db.deleteFrom('ciphertexts').where('user_id', '=', userId).where('stamp', '=', stamp),
)
