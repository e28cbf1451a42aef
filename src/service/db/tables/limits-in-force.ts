import type { Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'

export type LimitInForce = Schema['limits_in_force']

const columns = ['variable', 'value', 'announced', 'announced_at'] as const

export async function findLimitsInForce(db: Db): Promise<LimitInForce[]> {
  return db.selectFrom('limits_in_force').select(columns).execute()
}

export async function saveLimitInForce(trx: Trx, { variable, ...set }: LimitInForce): Promise<void> {
  const rows = trx.insertInto('limits_in_force').values({ variable, ...set })
  await rows.onConflict((conflict) => conflict.column('variable').doUpdateSet(set)).execute()
}
