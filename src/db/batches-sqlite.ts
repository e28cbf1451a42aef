import { sql } from 'kysely'
import { createPause } from '../event-loop.ts'
import type { Database, Trx } from './database.ts'
import { type StoredVersion, versionColumns } from './rows.ts'
import { columnsOf, type Table, upsertFrom } from './upsert.ts'

/** Works row by row, with each statement compiled once: without round trips, this is three times as fast as a set. */
export const sqliteBatches: Pick<Database, 'findVersions' | 'upsert' | 'settleEntities' | 'removeCiphertexts'> = {
  async findVersions(trx, userId, keys) {
    const query = trx
      .selectFrom('records')
      .select(versionColumns)
      .where('user_id', '=', userId)
      .where('entity_type', '=', 'bookmark')
      .where('entity_id', '=', '')
      .compile()
    const found: (StoredVersion | undefined)[] = []
    const pause = createPause()
    for (const { entity_type, entity_id } of keys) {
      await pause()
      const { rows } = await trx.executeQuery<StoredVersion>({ ...query, parameters: [userId, entity_type, entity_id] })
      found.push(rows[0])
    }
    return found
  },

  async upsert<Row>(trx: Trx, table: Table<Row>, rows: Row[]) {
    if (rows.length === 0) return
    const columns = columnsOf(table)
    const query = upsertFrom(table, sql`values (${sql.join(columns)})`).compile(trx)
    const pause = createPause()
    for (const row of rows) {
      await pause()
      await trx.executeQuery({ ...query, parameters: columns.map((column) => row[column]) })
    }
  },

  /** Works on a set, because most of the entities have no open conflict. */
  async settleEntities(trx, userId, keys) {
    const written = JSON.stringify(keys.map(({ entity_type, entity_id }) => [entity_type, entity_id]))
    await sql`
      DELETE FROM rejections
      WHERE user_id = ${userId} AND (entity_type, entity_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(${written}))
    `.execute(trx)
  },

  async removeCiphertexts(trx, userId, stamps) {
    if (stamps.length === 0) return
    await sql`
      DELETE FROM ciphertexts
      WHERE user_id = ${userId} AND stamp IN (SELECT value FROM json_each(${JSON.stringify(stamps)}))
    `.execute(trx)
  },
}
