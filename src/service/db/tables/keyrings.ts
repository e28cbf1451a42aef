import type { Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'

export type KeyringRow = Schema['keyrings']

export async function findKeyring(db: Db, userId: string): Promise<KeyringRow | undefined> {
  return db.selectFrom('keyrings').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

/** Stores the keyring if its revision is the stored revision plus 1 (the first is 1). Returns whether it did. */
export async function saveKeyring(trx: Trx, row: KeyringRow): Promise<boolean> {
  if (row.revision === 1) {
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('keyrings')
      .values(row)
      .onConflict((conflict) => conflict.column('user_id').doNothing())
      .executeTakeFirst()
    return numInsertedOrUpdatedRows === 1n
  }
  const { numUpdatedRows } = await trx
    .updateTable('keyrings')
    .set({ keyring: row.keyring, revision: row.revision })
    .where('user_id', '=', row.user_id)
    .where('revision', '=', row.revision - 1)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
