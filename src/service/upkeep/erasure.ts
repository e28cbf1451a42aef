import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import { pages } from '../db/engine/query.ts'
import { beginErasure, type Deletion, deleteRows, deleteUser, listDeletions } from '../db/tables/deletions.ts'
import { listAllExports } from '../db/tables/exports.ts'
import { removeExport } from '../exports/remove.ts'
import type { ObjectStore } from '../objects/store.ts'
import { UnfinishedSweep } from './unfinished-sweep.ts'

/** After this time (ms), every request that started before the account was deleted has ended. */
export const lingerMs = 600_000
const accountsAtOnce = 100

export interface ErasureParts {
  database: Pick<Database, 'db' | 'write' | 'emptyLog'>
  objects: Pick<ObjectStore, 'remove'>
  clock: () => number
  log: FastifyBaseLogger
}

export interface Erasure {
  /** Erases a deleted account's data, after those begun before. The sweep continues what is interrupted. */
  begin(userId: string): void
  close(): Promise<void>
}

export function startErasure(parts: ErasureParts): Erasure {
  const stop = new AbortController()
  let running = Promise.resolve()
  return {
    begin(userId) {
      running = running.then(async () => void (await tryErasing(parts, userId, stop.signal)))
    },
    async close() {
      stop.abort()
      await running
    },
  }
}

/** Erases deleted accounts that are due, and finishes after `lingerMs`. Resolves to the number of finished ones. */
export const accountSweeps = { accounts: sweepAccounts }

async function sweepAccounts(parts: ErasureParts, stop: AbortSignal): Promise<number> {
  const { database, clock } = parts
  let [total, failed] = [0, 0]
  const next = (last?: Deletion) => listDeletions(database.db, last?.user_id ?? '', accountsAtOnce)
  for await (const page of pages(next)) {
    for (const { user_id, deleted_at, erase_at } of page) {
      const outcome = erase_at > clock() ? 'undone' : await tryErasing(parts, user_id, stop)
      if (stop.aborted) return total
      if (outcome === 'failed') failed++
      if (outcome !== 'erased' || deleted_at > clock() - lingerMs) continue
      if ((await listAllExports(database.db, user_id)).length > 0) continue
      await database.write((trx) => deleteUser(trx, user_id), user_id)
      total++
    }
  }
  if (failed > 0) throw new UnfinishedSweep(total, `deleted accounts that could not be erased: ${failed}`)
  return total
}

/** Resolves to `undone` if the account is not deleted any more. */
async function tryErasing(parts: ErasureParts, userId: string, stop: AbortSignal) {
  try {
    if (!(await parts.database.write((trx) => beginErasure(trx, userId), userId))) return 'undone'
    await erase(parts, userId, stop)
    return 'erased'
  } catch (err) {
    parts.log.error({ err, user: userId }, 'a deleted account could not be erased, retrying within the hour')
    return 'failed'
  }
}

async function erase({ database, objects }: ErasureParts, userId: string, stop: AbortSignal): Promise<void> {
  await deleteRows(database, userId, stop)
  for (const row of await listAllExports(database.db, userId)) {
    if (stop.aborted) return
    await removeExport({ database, objects }, row)
  }
  await database.emptyLog()
}
