import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** A pull looks for its own device's rejections among all of the user's. */
export const rejections: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createIndex('rejections_device')
      .on('rejections')
      .columns(['user_id', 'device_id', 'winner_stamp'])
      .execute()
  },
}
