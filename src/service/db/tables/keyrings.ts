import { quotas } from '../../../../generated/limits.ts'
import type { Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'

export type KeyringRow = Schema['keyrings']
export type KeyringVersionRow = Schema['keyring_versions']

export async function findKeyring(db: Db, userId: string): Promise<KeyringRow | undefined> {
  return db.selectFrom('keyrings').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

/** Keeps the keyring as it is, or from being replaced by others, until the transaction ends. */
export async function lockKeyring(trx: Trx, userId: string): Promise<KeyringRow | undefined> {
  return trx.selectFrom('keyrings').selectAll().where('user_id', '=', userId).forUpdate().executeTakeFirst()
}

/** Stores the first keyring. Returns false if there is one. */
export async function addKeyring(trx: Trx, row: KeyringRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('keyrings')
    .values(row)
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** The caller has locked it. */
export async function replaceKeyring(trx: Trx, { user_id, ...set }: KeyringRow): Promise<void> {
  await trx.updateTable('keyrings').set(set).where('user_id', '=', user_id).execute()
}

/** Those that were replaced after `after`, the last replaced first. */
export async function listKeyringVersions(db: Db, userId: string, after: number): Promise<KeyringVersionRow[]> {
  return db
    .selectFrom('keyring_versions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('replaced_at', '>', after)
    .orderBy('revision', 'desc')
    .limit(quotas.keyringVersions)
    .execute()
}

/** Keeps one that was replaced, and of all of them the newest. */
export async function addKeyringVersion(trx: Trx, row: KeyringVersionRow): Promise<void> {
  await trx.insertInto('keyring_versions').values(row).execute()
  const kept = trx.selectFrom('keyring_versions').select('id').where('user_id', '=', row.user_id)
  await trx
    .deleteFrom('keyring_versions')
    .where('user_id', '=', row.user_id)
    .where('id', 'not in', kept.orderBy('revision', 'desc').limit(quotas.keyringVersions))
    .execute()
}

/** Takes one that was replaced after `after` out of those that are kept. */
export async function takeKeyringVersion(
  trx: Trx,
  userId: string,
  id: string,
  after: number,
): Promise<KeyringVersionRow | undefined> {
  return trx
    .deleteFrom('keyring_versions')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .where('replaced_at', '>', after)
    .returningAll()
    .executeTakeFirst()
}

export async function deleteKeyringVersions(trx: Trx, userId: string): Promise<void> {
  await trx.deleteFrom('keyring_versions').where('user_id', '=', userId).execute()
}
