import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './until-2.0.0.ts'

/** By which a user tells their logins apart. Those that older instances make have neither. */
export function sessions(textType: Text): Migration {
  const text = sql.raw(textType)
  return {
    async up(db: Kysely<unknown>) {
      await db.schema
        .alterTable('logins')
        .addColumn('user_agent', text, (column) => column.notNull().defaultTo(''))
        .execute()
      await db.schema.alterTable('logins').addColumn('last_used_at', 'bigint').execute()
    },
  }
}
