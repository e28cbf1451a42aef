import type { Selectable } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'

export type ExportRow = Selectable<Schema['exports']>
type NewExport = Pick<ExportRow, 'id' | 'user_id' | 'status' | 'created_at' | 'key_sealed'>

export async function saveExport(trx: Trx, row: NewExport): Promise<ExportRow> {
  return trx.insertInto('exports').values(row).returningAll().executeTakeFirstOrThrow()
}

/** For all users, by status. Completed exports are not counted, because there are many. */
export async function countIncomplete(db: Db) {
  const counts = { pending: 0, processing: 0, failed: 0 }
  const rows = await db
    .selectFrom('exports')
    .select(['status', ({ fn }) => fn.countAll<number>().as('count')])
    .where('status', 'in', ['pending', 'processing', 'failed'])
    .groupBy('status')
    .execute()
  for (const { status, count } of rows) if (status !== 'completed') counts[status] = Number(count)
  return counts
}

/** Newest first. Expired exports are left out, whether or not they have been swept. */
export async function listExports(db: Db, userId: string, now: number) {
  return unexpired(db, userId, now).orderBy('created_at', 'desc').orderBy('id', 'desc').execute()
}

export async function findExport(db: Db, userId: string, id: string, now: number) {
  return unexpired(db, userId, now).where('id', '=', id).executeTakeFirst()
}

function unexpired(db: Db, userId: string, now: number) {
  return db
    .selectFrom('exports')
    .selectAll()
    .where('user_id', '=', userId)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
}

/** Expired ones, too. */
export async function listAllExports(db: Db, userId: string): Promise<Pick<ExportRow, 'id' | 'object_key'>[]> {
  return db.selectFrom('exports').select(['id', 'object_key']).where('user_id', '=', userId).execute()
}

/** Also fences off a worker that is making it. Returns its object key, if any; undefined if there is no such export. */
export async function deleteExport(trx: Trx, userId: string, id: string) {
  return trx
    .deleteFrom('exports')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returning('object_key')
    .executeTakeFirst()
}
