import type { RawBuilder } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query } from '../engine/query.ts'
import type { Schema } from '../schema.ts'
import { currentEpoch } from './epoch.ts'

/** A user's counters. Each is updated in the transaction of the write that changes it. */
export interface Counters {
  id: string
  last_stamp: number
  live_bookmarks: number
  stored_bytes: number
  version_bytes: number
  stored_records: number
  /** See db/digest.ts. */
  digest: string | null
  digest_stamp: number | null
}

/** With the epoch of the sequence numbers, read together with them. */
interface CountersOfEpoch extends Counters {
  epoch: string
}

/** Whose row the transaction holds, so that the counters stay as they are until it writes them. */
export type LockedUser = CountersOfEpoch

const counters = [
  'id',
  'last_stamp',
  'live_bookmarks',
  'stored_bytes',
  'version_bytes',
  'stored_records',
  'digest',
  'digest_stamp',
] as const
type NewUser = Omit<Schema['users'], Exclude<(typeof counters)[number], 'id'> | 'trash_checked_at' | 'disabled_at'>
type Profile = Pick<NewUser, 'email' | 'name' | 'avatar_url' | 'email_verified'>

/** Creates the user at the first sign-in; later ones update the profile and keep the rest. Returns the user's id. */
export async function saveUser(trx: Trx, user: NewUser): Promise<string> {
  const { user_id } = await trx
    .insertInto('identities')
    .values({ issuer: user.issuer, subject: user.subject, user_id: user.id })
    // Also locks it: of two first sign-ins at once, the second finds the first one's user.
    .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doUpdateSet({ issuer: user.issuer }))
    .returning('user_id')
    .executeTakeFirstOrThrow()
  const id = user_id === user.id ? await addUser(trx, user) : user_id
  if (id === user.id) return id
  const { email, name, avatar_url, email_verified }: Profile = user
  await trx.updateTable('users').set({ email, name, avatar_url, email_verified }).where('id', '=', id).execute()
  return id
}

/** Returns the id of the user who is there: an older version created users without an identity. */
async function addUser(trx: Trx, user: NewUser): Promise<string> {
  const { issuer, subject } = user
  const added = await trx
    .insertInto('users')
    .values(user)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (added.numInsertedOrUpdatedRows === 1n) return user.id
  const { id } = await trx
    .selectFrom('users')
    .select('id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirstOrThrow()
  await trx
    .updateTable('identities')
    .set({ user_id: id })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .execute()
  return id
}

export async function findProfile(db: Db, id: string): Promise<Profile | undefined> {
  const profile = db.selectFrom('users').select(['email', 'name', 'avatar_url', 'email_verified'])
  return profile.where('id', '=', id).executeTakeFirst()
}

/**
 * Every write to a user's records holds this lock until its commit, so that sequence numbers become visible in the
 * order in which they are given. This kind of lock does not wait for rows that only refer to the user.
 */
export async function lockUser(trx: Trx, id: string): Promise<LockedUser> {
  return countersToUpdate.one(trx, { id })
}

const countersToUpdate = query((db, { id }: Placeholders<{ id: string }>) => selectCounters(db, id).forNoKeyUpdate())

export async function saveCounters(trx: Trx, user: Counters): Promise<void> {
  await savedCounters.run(trx, user)
}

const savedCounters = query((db, values: Placeholders<Counters>) => {
  const { id, last_stamp, live_bookmarks, stored_bytes, version_bytes, stored_records, digest, digest_stamp } = values
  const set = { last_stamp, live_bookmarks, stored_bytes, version_bytes, stored_records, digest, digest_stamp }
  return db.updateTable('users').set(set).where('id', '=', id)
})

export async function findCounters(db: Db, id: string): Promise<CountersOfEpoch> {
  return countersOf.one(db, { id })
}

const countersOf = query((db, { id }: Placeholders<{ id: string }>) => selectCounters(db, id))

function selectCounters(db: Db, id: RawBuilder<string>) {
  return db.selectFrom('users').select(counters).select(currentEpoch).where('id', '=', id)
}

/** Of those of the users who exist. */
export async function findLastStamps(db: Db, ids: string[]): Promise<Map<string, number>> {
  const rows = await lastStamps.all(db, { ids })
  return new Map(rows.map(({ id, last_stamp }) => [id, last_stamp]))
}

const lastStamps = query((db, { ids }: Placeholders<{ ids: string[] }>) =>
  db
    .selectFrom('users')
    .select(['id', 'last_stamp'])
    .where(isOneOf(db, 'id', ids)),
)

export async function findExportKey(db: Db, id: string): Promise<string> {
  const user = await db.selectFrom('users').select('export_key_sealed').where('id', '=', id).executeTakeFirstOrThrow()
  return user.export_key_sealed
}

export async function saveExportKey(trx: Trx, id: string, sealed: string): Promise<void> {
  await trx.updateTable('users').set({ export_key_sealed: sealed }).where('id', '=', id).execute()
}
