import { sql } from 'kysely'
import { pause } from '../../thread/loop.ts'
import { type EntityKey, records, type StoredVersion, versionColumns } from '../rows.ts'
import type { RecordsTable } from '../schema.ts'
import type { Database, Trx } from './database.ts'
import { type Placeholders, type Query, query } from './query.ts'
import { type Batch, type Batches, batches, batchFor, type Column, columnsOf, rowsAtOnce, selectSome } from './table.ts'

/** Reading so many versions takes some milliseconds. */
const maxKeys = 1000

/** Works on some rows at a time, and the event loop turns in between. */
export const sqliteBatches: Pick<
  Database,
  'findVersions' | 'insert' | 'upsert' | 'edit' | 'settleEntities' | 'removeCiphertexts'
> = {
  async findVersions(trx, userId, keys) {
    const found: (StoredVersion | undefined)[] = keys.map(() => undefined)
    for (const { entity_type, ids, places } of partsOf(keys)) {
      await pause()
      const rows = await versions.all(trx, { userId, entity_type, ids })
      for (const row of rows) found[places[row.place] as number] = row
    }
    return found
  },

  insert: (trx, { insertRow, insertSome }, rows) => write(trx, insertRow, insertSome, rows),

  upsert: (trx, { upsertRow, upsertSome }, rows) => write(trx, upsertRow, upsertSome, rows),

  edit: (trx, rows) => write(trx, editRow, editSome, rows),

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

async function write<Row>(trx: Trx, row: Query<Row, unknown>, some: Batches<Row>, rows: Row[]): Promise<void> {
  const rest = rows.length % rowsAtOnce
  for (let to = rowsAtOnce; to <= rows.length; to += rowsAtOnce) {
    await pause()
    const part = rows.slice(to - rowsAtOnce, to)
    const batch = batchFor(some, part)
    await batch.query.run(trx, valuesOf(part, batch))
  }
  await row.runEach(trx, rows.slice(rows.length - rest))
}

interface Part extends Pick<EntityKey, 'entity_type'> {
  ids: string[]
  /** Of its keys among all. */
  places: number[]
}

/** At most `maxKeys` each, of one type. */
function partsOf(keys: EntityKey[]): Part[] {
  const parts: Part[] = []
  const filling = new Map<string, Part>()
  keys.forEach(({ entity_type, entity_id }, place) => {
    let part = filling.get(entity_type)
    if (!part || part.ids.length === maxKeys) {
      part = { entity_type, ids: [], places: [] }
      parts.push(part)
      filling.set(entity_type, part)
    }
    part.ids.push(entity_id)
    part.places.push(place)
  })
  return parts
}

function valuesOf<Row>(rows: Row[], { shared, own }: Batch<Row>): unknown[] {
  const values = new Array(shared.length + rows.length * own.length)
  let place = 0
  for (const column of shared) values[place++] = rows[0]?.[column]
  for (const row of rows) for (const column of own) values[place++] = row[column]
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

const key = ['user_id', 'entity_type', 'entity_id'] satisfies Column<RecordsTable>[]
/** With these, the row's place in the indexes on them stays as it is. */
const kept: Column<RecordsTable>[] = [...key, 'created_at', 'deleted_at', 'first_stamp']
const changed = columnsOf(records.columns).filter((column) => !kept.includes(column))

const editRow = query(
  (_, row: Placeholders<RecordsTable>) => sql`
    update records set ${sql.join(changed.map((column) => sql`${sql.ref(column)} = ${row[column]}`))}
    where user_id = ${row.user_id} and entity_type = ${row.entity_type} and entity_id = ${row.entity_id}`,
)

const editSome = batches([...key, ...changed], records.upsertSome.alike.shared, (shared, own, values) => {
  const set = changed.map((column) => sql`${sql.ref(column)} = ${sql.ref(`later.${column}`)}`)
  const isSame = key.map((column) => sql`${sql.ref(`records.${column}`)} = ${sql.ref(`later.${column}`)}`)
  // If it fails, the transaction is undone: `or fail`, because SQLite would otherwise copy each page first, to undo it alone.
  return sql`update or fail records set ${sql.join(set)}
    from (${selectSome(shared, own, values)}) as later where ${sql.join(isSame, sql` and `)}`
})

const settled = query(
  (_, { userId, written }: Placeholders<{ userId: string; written: string }>) => sql`
    delete from rejections
    where user_id = ${userId} and (entity_type, entity_id) in (select value ->> 0, value ->> 1 from json_each(${written}))`,
)

const removed = query((db, { userId, stamp }: Placeholders<{ userId: string; stamp: number }>) =>
  db.deleteFrom('ciphertexts').where('user_id', '=', userId).where('stamp', '=', stamp),
)
