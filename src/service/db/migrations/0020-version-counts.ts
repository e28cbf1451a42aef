import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * How many versions are kept of each user, what finds a version by its ciphertext, and the events in the index on entities: an
 * index of their own would be another page for each version that is written. Releases before versions leave the counts as they are, and no version of theirs is there to
 * be counted; a database of between the releases has some, and inexact counts of records.
 */
export const versionCounts: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .alterTable('users')
      .addColumn('stored_versions', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    const indexes = { versions_event: ['entity_type', 'entity_id', 'seq', 'version_id'], versions_data: ['data_stamp'] }
    for (const [name, columns] of Object.entries(indexes)) {
      await db.schema
        .createIndex(name)
        .on('versions')
        .columns(['user_id', ...columns])
        .execute()
    }
    await db.schema.dropIndex('versions_entity').execute()
    const { rows } = await sql`select 1 from versions limit 1`.execute(db)
    if (rows.length === 0) return
    await sql`update users set stored_versions = (select count(*) from versions where versions.user_id = users.id)`.execute(
      db,
    )
    const counted = sql`(select count(*) from versions where versions.user_id = records.user_id
      and versions.entity_type = records.entity_type and versions.entity_id = records.entity_id)`
    await sql`update records set versions = ${counted} where versions <> ${counted}`.execute(db)
  },
}
