import type { Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'

/** Marks the nonce of a sign-in as used. Returns true if it was unused; of simultaneous calls, only one gets true. */
export async function useNonce(trx: Trx, { nonce, expires_at }: Schema['used_nonces']): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('used_nonces')
    .values({ nonce, expires_at })
    .onConflict((conflict) => conflict.column('nonce').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

export async function findUsedNonces(db: Db, nonces: string[]): Promise<Set<string>> {
  const rows = await db.selectFrom('used_nonces').select('nonce').where('nonce', 'in', nonces).execute()
  return new Set(rows.map(({ nonce }) => nonce))
}
