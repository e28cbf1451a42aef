import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import { type EntityKey, type StoredVersion, versionColumns } from './rows.ts'
import { columnsOf, type Table, upsertFrom } from './upsert.ts'

/** Works on sets: one round trip for a whole push. */
export const postgresBatches: Pick<Database, 'findVersions' | 'upsert' | 'settleEntities' | 'removeCiphertexts'> = {
  async findVersions(trx, userId, keys) {
    const { rows } = await sql<StoredVersion & { place: number }>`
      SELECT place, ${sql.join(versionColumns.map((column) => sql.ref(`r.${column}`)))}
      FROM unnest(${types(keys)}::text[], ${ids(keys)}::text[]) WITH ORDINALITY AS wanted (entity_type, entity_id, place)
      JOIN records r ON r.user_id = ${userId} AND r.entity_type = wanted.entity_type AND r.entity_id = wanted.entity_id
    `.execute(trx)
    const found = new Map(rows.map(({ place, ...version }) => [place, version]))
    return keys.map((_, index) => found.get(index + 1))
  },

  async upsert<Row>(trx: Trx, table: Table<Row>, rows: Row[]) {
    if (rows.length === 0) return
    const arrays = columnsOf(table).map((column) => {
      return sql`${rows.map((row) => row[column])}::${sql.raw(table.columns[column])}[]`
    })
    await upsertFrom(table, sql`select * from unnest(${sql.join(arrays)})`).execute(trx)
  },

  async settleEntities(trx, userId, keys) {
    await sql`
      DELETE FROM rejections USING unnest(${types(keys)}::text[], ${ids(keys)}::text[]) AS written (entity_type, entity_id)
      WHERE rejections.user_id = ${userId} AND rejections.entity_type = written.entity_type
        AND rejections.entity_id = written.entity_id
    `.execute(trx)
  },

  async removeCiphertexts(trx, userId, stamps) {
    if (stamps.length === 0) return
    await sql`DELETE FROM ciphertexts WHERE user_id = ${userId} AND stamp = ANY(${stamps}::bigint[])`.execute(trx)
  },
}

function types(keys: EntityKey[]): string[] {
  return keys.map(({ entity_type }) => entity_type)
}

function ids(keys: EntityKey[]): string[] {
  return keys.map(({ entity_id }) => entity_id)
}
