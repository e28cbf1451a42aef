import type { RawBuilder } from 'kysely'
import type { Db } from './database.ts'

/** Resolves to the database's time (Unix ms). */
export async function beat(db: Db, now: RawBuilder<number>): Promise<number> {
  const { at } = await db.updateTable('heartbeat').set({ at: now }).returning('at').executeTakeFirstOrThrow()
  return at
}
