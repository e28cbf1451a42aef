import type { Trx } from '../db/engine/database.ts'
import { inOrder } from '../db/engine/query.ts'
import { ciphertexts, removeCiphertexts } from '../db/tables/ciphertexts.ts'
import { removeRejections } from '../db/tables/conflicts.ts'
import {
  addUp,
  adjustCounts,
  type Erased,
  eraseBriefestOf,
  eraseVersions,
  nothingErased,
  subtract,
} from '../db/tables/erased-versions.ts'
import { entityKey, saveRecords } from '../db/tables/records.ts'
import { type LockedUser, saveCounters } from '../db/tables/users.ts'
import { type VersionRow, versions } from '../db/tables/versions.ts'
import { inParts } from '../thread/loop.ts'
import type { Effects } from './change.ts'
import { makeRoom, missingRoom } from './room.ts'
import { type QuotaLimits, rowBytes, usedBytes } from './usage.ts'

/**
 * Stores the effects of writes, each of which begins where the one before ends, and the first with the user as `before`. No two
 * may concern the same entity.
 */
export async function store(
  limits: QuotaLimits,
  trx: Trx,
  before: LockedUser,
  effects: Effects[],
  usedAtFirst?: number,
): Promise<void> {
  const user = effects.at(-1)?.user
  if (!user) return
  const all = <Part>(of: (effect: Effects) => Part[]) => effects.flatMap(of)
  const records = all((effect) => effect.records)
  const kept = all((effect) => effect.versions)
  if (records.length + kept.length === 0) return

  const edits = new Set(all((effect) => effect.edits))
  const texts = all((effect) => effect.ciphertexts)
  const [removed, settled] = [all((effect) => effect.removed), all((effect) => effect.settled)]
  const recounted = all((effect) => effect.recounted)
  const restored = all((effect) => effect.restored)
  const beyond = new Map(all((effect) => [...effect.beyond]))
  const added = effects.reduce((sum, effect) => sum + effect.added, 0)
  const missing = missingRoom(limits, { before, after: user, added, usedAtFirst, isShared: effects.length > 1 })
  const isErasing = beyond.size > 0 || recounted.length > 0 || missing > 0
  const saving: Promise<void>[] = []
  const save = (part: Promise<void>) => {
    saving.push(part)
    return part
  }
  await inOrder(trx, [
    () => save(saveRecords(trx, records, edits)),
    () => save(ciphertexts.insert(trx, texts)),
    () => (removed.length > 0 ? removeCiphertexts(trx, user.id, removed) : undefined),
    // Only what is stored can have beaten a change.
    () => (settled.length > 0 ? removeRejections(trx, user.id, settled) : undefined),
    async () => {
      // Many are sent some at a time, and what is erased may be among them.
      if (isErasing) await Promise.all(saving)
      const erased = await keepVersions(trx, user.id, kept, beyond)
      const goal = usedBytes(user) - missing
      let left = subtract(user, erased)
      if (recounted.length > 0) await adjustCounts(trx, user.id, recounted, 1)
      // Else what is still to be restored could go for what is.
      const first = restored.slice(0, Math.max(0, Math.ceil((usedBytes(left) - goal) / rowBytes)))
      if (missing > 0 && first.length > 0) left = subtract(left, await eraseVersions(trx, user.id, first))
      await saveCounters(trx, await makeRoom(trx, left, usedBytes(left) - goal))
    },
  ])
}

/** In each of these parts, versions go of the entities of which it adds the last ones: by then, their pages are at hand. */
const versionsAtOnce = 500

/** Adds versions, and erases those that are too many of an entity. */
async function keepVersions(
  trx: Trx,
  userId: string,
  added: VersionRow[],
  beyond: ReadonlyMap<string, number>,
): Promise<Erased> {
  const last = beyond.size > 0 ? new Map(added.map((version) => [entityKey(version), version])) : undefined
  let erased = nothingErased
  await inParts(added, versionsAtOnce, async (part) => {
    await versions.insert(trx, part)
    if (!last) return
    const full = part.filter((version) => last.get(entityKey(version)) === version && beyond.has(entityKey(version)))
    for (const [count, keys] of Map.groupBy(full, (version) => beyond.get(entityKey(version)) as number))
      erased = addUp(erased, await eraseBriefestOf(trx, userId, keys, count))
  })
  return erased
}
