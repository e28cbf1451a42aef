import { type Selectable, sql } from 'kysely'
import type { Database, Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'
import type { IdentityKey } from './identities.ts'
import { type EndedLogin, endLogins, lockLogins } from './logins.ts'

export type Deletion = Selectable<Schema['deletions']>

/** Tables without a foreign key to `users`, because the database would check it for each row of a push. */
export const withoutReference = ['records', 'ciphertexts', 'versions'] as const

/** Rows per transaction. Few, so that users' writes do not wait long, however large the ciphertexts are. */
const batchRows = 200
/** Tables of a user's data, and the columns that identify a row among those of the user. */
export const keysOfRows = {
  versions: ['sequence'],
  ciphertexts: ['sequence'],
  records: ['entity_type', 'entity_id'],
  devices: ['device_id'],
  keyrings: ['user_id'],
  keyring_versions: ['id'],
  pairings: ['user_id'],
}

/**
 * Marks an account as deleted. From the commit on, nobody is or can be signed in as this user, whose row in `users` has
 * no personal data. At another sign-in, the person becomes a new user. `check` gets the logins' ids, and may throw to
 * prevent the deletion. Takes locks in the same order as a sign-in, so that the two cannot deadlock.
 */
export async function beginDeletion(
  trx: Trx,
  userId: string,
  now: number,
  check: (logins: Set<string>) => void = () => {},
): Promise<EndedLogin[]> {
  await trx.deleteFrom('identities').where('user_id', '=', userId).execute()
  const profile = { issuer: '', subject: userId, email: '', name: '', avatar_url: '', email_verified: 0 }
  // If this key is gone, copies of exports are unreadable even with SECRET_KEY. Backups and the user may still have it.
  const nobody = { ...profile, export_key_sealed: '' }
  await trx.updateTable('users').set(nobody).where('id', '=', userId).execute()
  const logins = await lockLogins(trx, userId)
  check(logins)
  await trx
    .insertInto('deletions')
    .values({ user_id: userId, deleted_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return endLogins(trx, userId, [...logins])
}

/** The person behind an account. */
export interface Person {
  profile: Pick<Schema['users'], (typeof profileColumns)[number]>
  identities: IdentityKey[]
}

const profileColumns = ['issuer', 'subject', 'email', 'name', 'avatar_url', 'email_verified'] as const

export async function findPerson(db: Db, id: string): Promise<Person | undefined> {
  const profile = await db.selectFrom('users').select(profileColumns).where('id', '=', id).executeTakeFirst()
  const identities = db.selectFrom('identities').select(['issuer', 'subject']).where('user_id', '=', id)
  return profile && { profile, identities: await identities.execute() }
}

/** Deletes an account in such a way that `undoDeletion` can restore it, at least until `eraseAt`. */
export async function beginUndoableDeletion(trx: Trx, userId: string, now: number, eraseAt: number): Promise<void> {
  const user = await trx.selectFrom('users').select('export_key_sealed').where('id', '=', userId).executeTakeFirst()
  const person = await findPerson(trx, userId)
  await beginDeletion(trx, userId, now)
  await trx
    .updateTable('users')
    .set({ ...user })
    .where('id', '=', userId)
    .execute()
  const set = { erase_at: eraseAt, person: JSON.stringify(person) }
  await trx.updateTable('deletions').set(set).where('user_id', '=', userId).execute()
}

/** Makes the deletion final. Returns false if it was undone. */
export async function beginErasure(trx: Trx, userId: string): Promise<boolean> {
  const deletion = trx.updateTable('deletions').set({ person: null }).where('user_id', '=', userId)
  if (!(await deletion.returning('user_id').executeTakeFirst())) return false
  await trx.updateTable('users').set({ export_key_sealed: '' }).where('id', '=', userId).execute()
  return true
}

/** Restores the profile of a deleted account; the caller restores the identities. Undefined if it cannot be undone. */
export async function undoDeletion(trx: Trx, userId: string): Promise<Person | undefined> {
  const deletion = trx.deleteFrom('deletions').where('user_id', '=', userId).where('person', 'is not', null)
  const found = await deletion.returning('person').executeTakeFirst()
  if (!found) return undefined
  const person: Person = JSON.parse(found.person ?? '')
  await trx.updateTable('users').set(person.profile).where('id', '=', userId).execute()
  return person
}

export async function findDeletion(db: Db, userId: string): Promise<Deletion | undefined> {
  return db.selectFrom('deletions').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

/** The next `limit` deletions after this user id, ordered by id. */
export async function listDeletions(db: Db, after: string, limit: number): Promise<Deletion[]> {
  return db
    .selectFrom('deletions')
    .select(['user_id', 'deleted_at', 'erase_at', 'person'])
    .where('user_id', '>', after)
    .orderBy('user_id')
    .limit(limit)
    .execute()
}

/** Deletes the user's rows in the tables of `keysOfRows`, in short transactions, until done or stopped. */
export async function deleteRows({ write }: Pick<Database, 'write'>, userId: string, stop: AbortSignal): Promise<void> {
  for (const [table, columns] of Object.entries(keysOfRows)) {
    const key = sql.join(columns.map((column) => sql.ref(column)))
    const batch = sql`select ${key} from ${sql.table(table)} where user_id = ${userId} limit ${batchRows}`
    const statement = sql`delete from ${sql.table(table)} where user_id = ${userId} and (${key}) in (${batch})`
    for (let deleted = batchRows; deleted >= batchRows && !stop.aborted; )
      deleted = await write(async (trx) => Number((await statement.execute(trx)).numAffectedRows), userId)
  }
}

/** Erases the user, and rows that a request still running at the deletion may have written since. */
export async function deleteUser(trx: Trx, userId: string): Promise<void> {
  await trx.deleteFrom('users').where('id', '=', userId).execute()
  for (const table of withoutReference) await trx.deleteFrom(table).where('user_id', '=', userId).execute()
}
