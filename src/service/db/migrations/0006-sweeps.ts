import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** What the sweeps remove is found by its age. */
export const sweeps: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.createIndex('devices_last_sync').on('devices').column('last_sync').execute()
    await db.schema.createIndex('rejections_age').on('rejections').column('created_at').execute()
    await db.schema.createIndex('exports_expiry').on('exports').column('expires_at').execute()
  },
}
