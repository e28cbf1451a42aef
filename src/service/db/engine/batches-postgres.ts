import { sql } from 'kysely'
import { type EntityKey, records, type StoredVersion, versionColumns } from '../rows.ts'
import type { Database, Trx } from './database.ts'
import { toBinaryArray } from './postgres-arrays.ts'
import { type Placeholders, query } from './query.ts'
import { type Batches, batchFor, type Table } from './table.ts'

/** Works on sets: one round trip for a whole push. */
export const postgresBatches: Pick<
  Database,
  'findVersions' | 'insert' | 'upsert' | 'edit' | 'settleEntities' | 'removeCiphertexts'
> = {
  async findVersions(trx, userId, keys) {
    const rows = await versions.all(trx, { userId, ...split(keys) })
    const found = new Map(rows.map(({ place, ...version }) => [place, version]))
    return keys.map((_, index) => found.get(index + 1))
  },

  insert: (trx, table, rows) => write(trx, table, table.insertAll, rows),

  upsert: (trx, table, rows) => write(trx, table, table.upsertAll, rows),

  edit: (trx, rows) => write(trx, records, records.upsertAll, rows),

  async settleEntities(trx, userId, keys) {
    if (keys.length > 0) await settled.run(trx, { userId, ...split(keys) })
  },

  async removeCiphertexts(trx, userId, stamps) {
    if (stamps.length > 0) await removed.run(trx, { userId, stamps })
  },
}

async function write<Row>(trx: Trx, { columns }: Table<Row>, batches: Batches<Row>, rows: Row[]): Promise<void> {
  const [first] = rows
  if (!first) return
  const { shared, own, query } = batchFor(batches, rows)
  const arrays = own.map((column) => toBinaryArray(rows, column, columns[column]))
  await query.run(trx, [...shared.map((column) => first[column]), ...arrays])
}

interface Keys {
  userId: string
  types: string[]
  ids: string[]
}

function split(keys: EntityKey[]): Pick<Keys, 'types' | 'ids'> {
  return { types: keys.map(({ entity_type }) => entity_type), ids: keys.map(({ entity_id }) => entity_id) }
}

const versions = query(
  (_, { userId, types, ids }: Placeholders<Keys>) => sql<StoredVersion & { place: number }>`
    select place, ${sql.join(versionColumns.map((column) => sql.ref(`r.${column}`)))}
    from unnest(${types}::text[], ${ids}::text[]) with ordinality as wanted (entity_type, entity_id, place)
    join records r on r.user_id = ${userId} and r.entity_type = wanted.entity_type and r.entity_id = wanted.entity_id`,
)

const settled = query(
  (_, { userId, types, ids }: Placeholders<Keys>) => sql`
    delete from rejections using unnest(${types}::text[], ${ids}::text[]) as written (entity_type, entity_id)
    where rejections.user_id = ${userId} and rejections.entity_type = written.entity_type
      and rejections.entity_id = written.entity_id`,
)

const removed = query(
  (_, { userId, stamps }: Placeholders<{ userId: string; stamps: number[] }>) =>
    sql`delete from ciphertexts where user_id = ${userId} and stamp = any(${stamps}::bigint[])`,
)
