import type { Db, Trx } from '../engine/database.ts'

/** Stores that this issuer's ID tokens have `auth_time`. */
export async function noteAuthTime(trx: Trx, issuer: string, now: number): Promise<void> {
  await trx
    .insertInto('providers')
    .values({ issuer, auth_time_since: now })
    .onConflict((conflict) => conflict.column('issuer').doNothing())
    .execute()
}

export async function hasSentAuthTime(db: Db, issuer: string): Promise<boolean> {
  const found = await db.selectFrom('providers').select('issuer').where('issuer', '=', issuer).executeTakeFirst()
  return found !== undefined
}
