import type { Database, Trx } from '../db/engine/database.ts'
import { deleteExport, withdrawExport } from '../db/tables/exports.ts'
import type { ObjectStore } from '../objects/store.ts'

interface Parts {
  database: Pick<Database, 'write'>
  objects: Pick<ObjectStore, 'remove'>
}

/**
 * Removes an export and its file, whatever a worker does meanwhile. Withdrawing it first fences off workers: one that
 * writes the file removes it itself, and cannot change the row any more. The row is deleted last, so that it still
 * names the file if removing that fails. `check` runs first, in the first transaction.
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
