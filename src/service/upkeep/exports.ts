import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import { isCurrent, listExpired, listFailed, type OutdatedExport } from '../db/tables/exports.ts'
import { readOrphanWatch, saveOrphanWatch } from '../db/tables/heartbeat.ts'
import { removeExport } from '../exports/remove.ts'
import { keptMs } from '../exports/worker.ts'
import { attemptOf, type ObjectStore, ObjectStoreUnavailableError } from '../objects/store.ts'
import { UnfinishedSweep } from './unfinished-sweep.ts'

/** Milliseconds in which an operator can notice a wrong DATABASE_URL. */
const orphanMs = 24 * 60 * 60 * 1000

const announcement =
  'exports that this database does not know will be removed in a day: if they are of another one, stop this service (docs/operating/storage.md)'

export interface ExportSweepParts {
  database: Pick<Database, 'db' | 'write'>
  objects: Pick<ObjectStore, 'list' | 'remove'>
  clock: () => number
  log: FastifyBaseLogger
}

/** Each sweep removes what it finds until nothing is left or it is stopped. Resolves to the number removed. */
export const exportSweeps = { 'expired exports': removeExpired, 'failed exports': removeFailed, orphans: removeOrphans }

async function removeExpired(parts: ExportSweepParts, stop: AbortSignal): Promise<number> {
  const now = parts.clock()
  return removeAll(parts, stop, (offset) => listExpired(parts.database.db, now, offset))
}

async function removeFailed(parts: ExportSweepParts, stop: AbortSignal): Promise<number> {
  const end = parts.clock() - keptMs
  return removeAll(parts, stop, (offset) => listFailed(parts.database.db, end, offset))
}

async function removeAll(
  parts: ExportSweepParts,
  stop: AbortSignal,
  list: (offset: number) => Promise<OutdatedExport[]>,
): Promise<number> {
  // Skips files that could not be removed, until the next sweep.
  let [kept, removed] = [0, 0]
  for (let rows = await list(0); rows.length > 0; rows = await list(kept)) {
    for (const row of rows) {
      if (stop.aborted) return removed
      if (await remove(parts, row)) removed++
      else kept++
    }
  }
  if (kept > 0) throw new UnfinishedSweep(removed, `exports that could not be removed: ${kept}`)
  return removed
}

async function remove(parts: ExportSweepParts, row: OutdatedExport): Promise<boolean> {
  try {
    await removeExport(parts, row)
    return true
  } catch (error) {
    throwIfUnreachable(error)
    parts.log.error({ err: error, exportId: row.id }, 'an expired or failed export could not be removed')
    return false
  }
}

/**
 * Removes objects without a current attempt. An attempt is in the database before its object is written. What this
 * database does not know may be another one's, so it is announced a day before, and no younger object is removed. A
 * database that has not looked for a day, such as an old copy, announces it again.
 */
async function removeOrphans(parts: ExportSweepParts, stop: AbortSignal): Promise<number> {
  const { database, objects, clock } = parts
  const [now, before] = [clock(), clock() - orphanMs]
  const { orphans_since, orphans_sought_at } = await readOrphanWatch(database.db)
  const since = (orphans_sought_at ?? 0) > before ? orphans_since : null
  const watch = (at: number | null) =>
    database.write((trx) => saveOrphanWatch(trx, { orphans_since: at, orphans_sought_at: now }))
  let [kept, removed] = [0, 0]
  for await (const key of objects.list(before)) {
    if (stop.aborted) return removed
    if (await isCurrent(database.db, attemptOf(key))) continue
    if (since === null) parts.log.warn({ object: key }, announcement)
    if (since === null || since > before) {
      await watch(since ?? now)
      return 0
    }
    if (await removeOrphan(parts, key)) removed++
    else kept++
  }
  await watch(null)
  if (kept > 0) throw new UnfinishedSweep(removed, `objects that could not be removed: ${kept}`)
  return removed
}

async function removeOrphan({ objects, log }: ExportSweepParts, key: string): Promise<boolean> {
  try {
    await objects.remove(key)
    log.info({ object: key }, 'removed an object that belongs to no export')
    return true
  } catch (error) {
    throwIfUnreachable(error)
    log.error({ err: error, object: key }, 'an object that belongs to no export could not be removed')
    return false
  }
}

/** Throws if the store is unreachable: other objects could not be removed either, and each attempt takes long. */
function throwIfUnreachable(error: unknown): void {
  if (error instanceof ObjectStoreUnavailableError) throw error
}
