import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { Trx } from '../db/engine/database.ts'
import { inOrder } from '../db/engine/query.ts'
import { ciphertexts } from '../db/tables/ciphertexts.ts'
import {
  adjustCounts,
  eraseReplaced,
  eraseShortestLived,
  eraseVersions,
  subtract,
} from '../db/tables/erased-versions.ts'
import { saveRecords } from '../db/tables/records.ts'
import { type LockedUser, saveCounters } from '../db/tables/users.ts'
import { versions } from '../db/tables/versions.ts'
import type { Effects } from './change.ts'
import { makeRoom } from './room.ts'
import { rowBytes, usedBytes } from './usage.ts'

/** Stores the effects of a write, then makes room for it. */
export async function store(trx: Trx, effects: Effects, surplusBytes: number, isLarge: boolean): Promise<void> {
  const { records, edits, versions: kept, ciphertexts: texts, erased, user } = effects
  if (records.length + kept.length === 0) return
  await inOrder(trx, [
    () =>
      saveRecords(
        trx,
        records,
        edits,
        kept.filter(({ began }) => began !== null),
      ),
    () => ciphertexts.insert(trx, texts),
    () => (erased.length > 0 ? eraseReplaced(trx, user.id, erased) : undefined),
    async () => {
      if (isLarge) await eventLoopTurn()
      await versions.insert(trx, kept)
      if (isLarge) await eventLoopTurn()
      await saveCounters(trx, await eraseSurplus(trx, effects, surplusBytes))
    },
  ])
}

/** Erases versions beyond an entity's limit, then what exceeds the quota. Resolves to the user's counters. */
async function eraseSurplus(
  trx: Trx,
  { user, beyond, recounted, restored }: Effects,
  bytes: number,
): Promise<LockedUser> {
  const goal = usedBytes(user) - bytes
  const surplusOf = (left: LockedUser) => (bytes > 0 ? Math.max(0, usedBytes(left) - goal) : 0)
  let left = user
  for (const [count, keys] of Map.groupBy(beyond, ({ count }) => count))
    left = subtract(left, await eraseShortestLived(trx, user.id, keys, count))
  if (recounted.length > 0) await adjustCounts(trx, user.id, recounted, 1)
  // Restored versions are current now, so they go first. Otherwise room might be taken from versions that are still to
  // be restored.
  const first = restored.slice(0, Math.ceil(surplusOf(left) / rowBytes))
  if (first.length > 0) left = subtract(left, await eraseVersions(trx, user.id, first))
  return makeRoom(trx, left, { bytes: surplusOf(left), tombstones: 0 })
}
