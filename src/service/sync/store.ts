import { quotas } from '../../../generated/limits.ts'
import type { Trx } from '../db/engine/database.ts'
import { inOrder } from '../db/engine/query.ts'
import { insert } from '../db/engine/table.ts'
import { ciphertexts, removeCiphertexts } from '../db/tables/ciphertexts.ts'
import { removeRejections } from '../db/tables/conflicts.ts'
import { saveRecords } from '../db/tables/records.ts'
import { saveCounters } from '../db/tables/users.ts'
import { markFull, versions } from '../db/tables/versions.ts'
import type { Effects } from './change.ts'
import { makeRoom } from './room.ts'
import type { QuotaLimits } from './usage.ts'

/** Stores the effects of writes, each of which begins where the one before ends. No two may concern the same entity. */
export async function store(limits: QuotaLimits, trx: Trx, effects: Effects[]): Promise<void> {
  const user = effects.at(-1)?.user
  if (!user) return
  const all = <Part>(of: (effect: Effects) => Part[]) => effects.flatMap(of)
  const records = all((effect) => effect.records)
  const kept = all((effect) => effect.versions)
  if (records.length + kept.length === 0) return

  const edits = new Set(all((effect) => effect.edits))
  const texts = all((effect) => effect.ciphertexts)
  const [removed, settled] = [all((effect) => effect.removed), all((effect) => effect.settled)]
  const lost = kept.filter(({ reason }) => reason === 'rejected').map(({ entity_id }) => entity_id)
  const mayBeFull = records.filter((row) => row.versions === quotas.versionsOfRecord).map(({ entity_id }) => entity_id)
  const full = new Set([...mayBeFull, ...lost])
  const added = effects.reduce((sum, effect) => sum + effect.added, 0)
  const isOver = added > 0 && user.stored_bytes > limits.maxUserBytes
  await inOrder(trx, [
    () => saveRecords(trx, records, edits),
    () => insert(trx, ciphertexts, texts),
    () => insert(trx, versions, kept),
    () => (removed.length > 0 ? removeCiphertexts(trx, user.id, removed) : undefined),
    // Only what is stored can have beaten a change.
    () => (settled.length > 0 ? removeRejections(trx, user.id, settled) : undefined),
    async () => {
      if (lost.length > 0) await markFull(trx, user.id, lost, quotas.versionsOfRecord)
      const needsRoom = full.size > 0 || isOver
      const left = needsRoom ? await makeRoom(limits, trx, user, [...full], added) : user
      await saveCounters(trx, left)
    },
  ])
}
