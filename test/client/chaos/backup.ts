import type { Selectable } from 'kysely'
import type { Schema } from '../../../src/service/db/schema.ts'
import { beginEpoch } from '../../../src/service/db/tables/epoch.ts'
import type { TestApp } from '../../support/app.ts'

const tables = ['ciphertexts', 'records', 'versions', 'devices', 'rejections'] as const

/** What the service held of a person when this was called; returns what puts the service back there, and the new epoch. */
export async function backUp({ context }: TestApp, userId: string): Promise<() => Promise<string>> {
  const { database, clock } = context
  const { db } = database
  const user = await db
    .selectFrom('users')
    .select(['last_stamp', 'live_bookmarks', 'stored_bytes', 'version_bytes', 'stored_records'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  const kept = new Map<(typeof tables)[number], Selectable<Schema[(typeof tables)[number]]>[]>()
  for (const table of tables) {
    kept.set(table, await db.selectFrom(table).selectAll().where('user_id', '=', userId).execute())
  }
  return async () => {
    for (const table of [...tables].reverse()) await db.deleteFrom(table).where('user_id', '=', userId).execute()
    for (const [table, rows] of kept) if (rows.length > 0) await db.insertInto(table).values(rows).execute()
    await db.updateTable('users').set(user).where('id', '=', userId).execute()
    return beginEpoch(database, clock())
  }
}
