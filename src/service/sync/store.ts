import { quotas } from '../../../generated/limits.ts'
import type { Trx } from '../db/engine/database.ts'
import { inOrder } from '../db/engine/query.ts'
import { insert } from '../db/engine/table.ts'
import { ciphertexts, removeCiphertexts } from '../db/tables/ciphertexts.ts'
import { removeRejections } from '../db/tables/conflicts.ts'
import { type RecordRow, saveRecords } from '../db/tables/records.ts'
import { type Counters, saveCounters } from '../db/tables/users.ts'
import type { Erased } from '../db/tables/versions.ts'
import { markFull, type VersionRow, versions } from '../db/tables/versions.ts'
import type { Plan, PlanParts } from './plan.ts'
import { makeRoom } from './room.ts'

/** Stores plans, each of which begins where the one before ends. No two may concern the same entity. */
export async function store({ config }: PlanParts, trx: Trx, plans: Plan[]): Promise<void> {
  const user = plans.at(-1)?.user
  if (!user) return
  const all = <Part>(of: (plan: Plan) => Part[]) => plans.flatMap(of)
  const rows = all((plan) => plan.rows)
  const lost = all((plan) => plan.lost)
  if (rows.length + lost.length === 0) return

  const [edits, lostData] = [new Set(all((plan) => plan.edits)), all((plan) => plan.lostData)]
  const [kept, removedData] = [all((plan) => plan.kept), all((plan) => plan.removedData)]
  // Only what is stored can have beaten a change.
  const settled = config.keepVersionsDays === 0 ? all((plan) => plan.replaced) : []
  const added = plans.reduce((sum, plan) => sum + plan.added, 0)
  await inOrder(trx, [
    () => saveRecords(trx, rows, edits),
    () => insert(trx, ciphertexts, lostData),
    () => insert(trx, versions, kept),
    () => (removedData.length > 0 ? removeCiphertexts(trx, user.id, removedData) : undefined),
    () => (settled.length > 0 ? removeRejections(trx, user.id, settled) : undefined),
    async () => {
      const full = await fullEntities(trx, user.id, rows, lost)
      await saveCounters(trx, { ...user, ...(await makeRoom(config, trx, user.id, full, { added, ...usageOf(user) })) })
    },
  ])
}

function usageOf({ stored_bytes, version_bytes }: Counters): Erased {
  return { stored_bytes, version_bytes }
}

/** The ids of those that may have too many versions. */
async function fullEntities(trx: Trx, userId: string, rows: RecordRow[], rejected: VersionRow[]): Promise<string[]> {
  const lost = rejected.map(({ entity_id }) => entity_id)
  if (lost.length > 0) await markFull(trx, userId, lost, quotas.versionsOfRecord)
  const full = rows.filter((row) => row.versions === quotas.versionsOfRecord)
  return [...new Set([...full.map(({ entity_id }) => entity_id), ...lost])]
}
