import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './until-2.0.0.ts'

/** The sum over a user's live records, and the sequence number up to which it holds. */
export function digest(textType: Text): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('users').addColumn('digest', sql.raw(textType)).execute()
      await db.schema.alterTable('users').addColumn('digest_stamp', 'bigint').execute()
    },
  }
}
