import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/database.ts'
import { isCurrent, listOutdated } from '../db/export-jobs.ts'
import { deleteExport } from '../db/exports.ts'
import { attemptOf } from '../objects/object-key.ts'
import type { ObjectStore } from '../objects/store.ts'

export interface ExportSweepParts {
  database: Pick<Database, 'db' | 'write'>
  objects: Pick<ObjectStore, 'list' | 'remove'>
  clock: () => number
  log: FastifyBaseLogger
}

export const keptMs = 7 * 24 * 60 * 60 * 1000

/** Removes expired exports, failed ones of the same age, and objects that no export refers to. */
export async function sweepExports(parts: ExportSweepParts): Promise<void> {
  await removeOutdated(parts)
  await removeOrphans(parts)
}

async function removeOutdated({ database, objects, clock, log }: ExportSweepParts): Promise<void> {
  const now = clock()
  for (const { id, user_id, object_key } of await listOutdated(database.db, now, now - keptMs)) {
    try {
      // The file goes first: if that fails, the row still refers to it.
      if (object_key !== null) await objects.remove(object_key)
      await database.write((trx) => deleteExport(trx, user_id, id))
    } catch (error) {
      log.error({ err: error, exportId: id }, 'an expired export could not be removed')
    }
  }
}

/** An attempt is in the database before its object is begun, so an object without a current attempt is an orphan. */
async function removeOrphans({ database, objects, log }: ExportSweepParts): Promise<void> {
  for await (const key of objects.list()) {
    if (await isCurrent(database.db, attemptOf(key))) continue
    await objects.remove(key)
    log.info({ object: key }, 'removed an object that belongs to no export')
  }
}
