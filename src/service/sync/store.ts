import { quotas } from '../../../generated/limits.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import { ciphertexts, type KeptVersion, type Row, versions } from '../db/rows.ts'
import type { Erased } from '../db/tables/erase.ts'
import { saveRecords } from '../db/tables/records.ts'
import { type Counters, saveCounters } from '../db/tables/users.ts'
import { markFull } from '../db/tables/versions.ts'
import type { Plan, PlanParts } from './plan.ts'
import { makeRoom } from './room.ts'

export interface StoreParts extends PlanParts {
  database: Pick<Database, 'inOrder' | 'insert' | 'upsert' | 'edit' | 'settleEntities' | 'removeCiphertexts'>
}

/** Stores plans, each of which begins where the one before ends. No two may concern the same entity. */
export async function store({ config, database }: StoreParts, trx: Trx, plans: Plan[]): Promise<void> {
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
  await database.inOrder([
    () => saveRecords(database, trx, rows, edits),
    () => database.insert(trx, ciphertexts, lostData),
    () => database.insert(trx, versions, kept),
    () => database.removeCiphertexts(trx, user.id, removedData),
    () => database.settleEntities(trx, user.id, settled),
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
async function fullEntities(trx: Trx, userId: string, rows: Row[], rejected: KeptVersion[]): Promise<string[]> {
  const lost = rejected.map(({ entity_id }) => entity_id)
  await markFull(trx, userId, lost, quotas.versionsOfRecord)
  const full = rows.filter((row) => row.versions === quotas.versionsOfRecord)
  return [...new Set([...full.map(({ entity_id }) => entity_id), ...lost])]
}
