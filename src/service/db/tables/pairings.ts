import type { Selectable } from 'kysely'
import { pairingMs, reservedMs } from '../../../protocol/pairing.ts'
import type { Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'

export type PairingRow = Selectable<Schema['pairings']>

/** Undefined if the pairing is unknown, has expired or has ended. */
export async function findPairing(db: Db, userId: string, id: string, now: number): Promise<PairingRow | undefined> {
  return db
    .selectFrom('pairings')
    .selectAll()
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .where('expires_at', '>', now)
    .executeTakeFirst()
}

/** Stores a message. Step 0 replaces the user's last pairing. False if it is not the pairing's next message. */
export async function savePairing(
  trx: Trx,
  message: Omit<PairingRow, 'expires_at' | 'reserved'>,
  now: number,
): Promise<boolean> {
  const { user_id, ...content } = message
  const set = { ...content, expires_at: now + pairingMs, reserved: 0 }
  const { id, step } = set
  if (step === 0) {
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('pairings')
      .values({ user_id, ...set })
      .onConflict((conflict) =>
        conflict
          .column('user_id')
          .doUpdateSet(set)
          .where(({ or, eb }) => or([eb('pairings.id', '<>', id), eb('pairings.expires_at', '<=', now)])),
      )
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  }
  const { numUpdatedRows } = await trx
    .updateTable('pairings')
    .set(set)
    .where('user_id', '=', user_id)
    .where('id', '=', id)
    .where('step', '=', step - 1)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Extends a pairing that has no answer yet, one time only, so that the person has time to sign in. */
export async function extendPairing(trx: Trx, userId: string, id: string, now: number): Promise<void> {
  await trx
    .updateTable('pairings')
    .set({ reserved: 1, expires_at: now + reservedMs })
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .where('step', '=', 0)
    .where('reserved', '=', 0)
    .where('expires_at', '>', now)
    .execute()
}

export async function erasePairing(trx: Trx, userId: string, id: string): Promise<void> {
  await trx.deleteFrom('pairings').where('user_id', '=', userId).where('id', '=', id).execute()
}

/** True if a message is still stored although its pairing has expired. */
export async function hasExpiredPairing(db: Db, now: number): Promise<boolean> {
  const found = await db.selectFrom('pairings').select('id').where('expires_at', '<=', now).limit(1).executeTakeFirst()
  return found !== undefined
}
