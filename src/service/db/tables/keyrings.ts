import { quotas } from '../../../../generated/limits.ts'
import type { Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'

export type KeyringRow = Schema['keyrings']
export type KeyringVersionRow = Schema['keyring_versions']

export async function findKeyring(db: Db, userId: string): Promise<KeyringRow | undefined> {
  return db.selectFrom('keyrings').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

/** Locks the keyring until the transaction ends. */
export async function lockKeyring(trx: Trx, userId: string): Promise<KeyringRow | undefined> {
  return trx.selectFrom('keyrings').selectAll().where('user_id', '=', userId).forUpdate().executeTakeFirst()
}

/** Stores the first keyring. Returns false if there is one already. */
export async function addKeyring(trx: Trx, row: KeyringRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('keyrings')
    .values(row)
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** The caller must have locked the keyring. */
export async function replaceKeyring(trx: Trx, { user_id, ...set }: KeyringRow): Promise<void> {
  await trx.updateTable('keyrings').set(set).where('user_id', '=', user_id).execute()
}

/** The keyrings replaced after the time `after`, the last one first. */
export async function listKeyringVersions(db: Db, userId: string, after: number): Promise<KeyringVersionRow[]> {
  return earlierKeyrings(db, userId)
    .selectAll()
    .where('replaced_at', '>', after)
    .orderBy('revision', 'desc')
    .limit(quotas.keyringVersions)
    .execute()
}

/** Keeps a keyring that is being replaced (if restored, it has a row already). Erases old ones beyond the limit. */
export async function addKeyringVersion(trx: Trx, row: KeyringVersionRow): Promise<void> {
  const { user_id, revision, replaced_at } = row
  const { numUpdatedRows } = await trx
    .updateTable('keyring_versions')
    .set({ replaced_at })
    .where('user_id', '=', user_id)
    .where('revision', '=', revision)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) await trx.insertInto('keyring_versions').values(row).execute()
  const beyond = earlierKeyrings(trx, user_id).select('id').orderBy('revision', 'desc')
  await trx
    .deleteFrom('keyring_versions')
    .where('user_id', '=', user_id)
    .where('id', 'in', beyond.limit(1000).offset(quotas.keyringVersions))
    .execute()
}

/** A keyring that was replaced after the time `after`, or restored after it and perhaps still current. */
export async function findKeyringVersion(
  trx: Trx,
  userId: string,
  id: string,
  after: number,
): Promise<KeyringVersionRow | undefined> {
  return trx
    .selectFrom('keyring_versions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .where('replaced_at', '>', after)
    .executeTakeFirst()
}

/** Marks a keyring as current again under this revision, so that a client that got no answer can restore it again. */
export async function markRestored(
  trx: Trx,
  { user_id, id }: KeyringVersionRow,
  set: Pick<KeyringVersionRow, 'revision' | 'replaced_at'>,
): Promise<void> {
  await trx.updateTable('keyring_versions').set(set).where('user_id', '=', user_id).where('id', '=', id).execute()
}

export async function deleteKeyringVersions(trx: Trx, userId: string): Promise<void> {
  await trx.deleteFrom('keyring_versions').where('user_id', '=', userId).execute()
}

/** Excludes the current keyring, which has a row here if it was restored. */
function earlierKeyrings(db: Db, userId: string) {
  const current = db.selectFrom('keyrings').select('revision').where('user_id', '=', userId)
  return db.selectFrom('keyring_versions').where('user_id', '=', userId).where('revision', '<', current)
}
