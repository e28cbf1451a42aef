import type { Database, Trx } from '../db/engine/database.ts'
import { deleteExport, withdrawExport } from '../db/tables/exports.ts'
import type { ObjectStore } from '../objects/store.ts'

interface Parts {
  database: Pick<Database, 'write'>
  objects: Pick<ObjectStore, 'remove'>
}

/**
 * Removes an export and its file, whatever a worker does meanwhile. Withdrawing the export first fences off workers: a
 * worker that was writing its file removes that itself, and the row no longer changes. The file is removed before the
 * row, which still refers to it if that fails. `check` runs first, in the first transaction.
 */
export async function removeExport(
  { database, objects }: Parts,
  { id, user_id }: { id: string; user_id: string },
  check: (trx: Trx) => Promise<void> = async () => {},
): Promise<void> {
  const withdrawn = await database.write(async (trx) => {
    await check(trx)
    return withdrawExport(trx, user_id, id)
  }, user_id)
  if (withdrawn?.object_key) await objects.remove(withdrawn.object_key)
  await database.write((trx) => deleteExport(trx, user_id, id), user_id)
}
