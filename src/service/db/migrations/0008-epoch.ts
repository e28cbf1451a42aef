import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { v7 as uuidv7 } from 'uuid'
import type { Text } from './0001-initial.ts'

/** One row: the epoch that all cursors belong to. */
export function epoch(textType: Text): Migration {
  return {
    async up(db: Kysely<{ epoch: { id: string } }>) {
      await db.schema
        .createTable('epoch')
        .addColumn('id', sql.raw(textType), (column) => column.primaryKey())
        .addColumn('restored', 'integer', (column) => column.notNull().defaultTo(0))
        .execute()
      await db.insertInto('epoch').values({ id: uuidv7() }).execute()
    },
  }
}
