import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { type Insertable, type RawBuilder, type Selectable, sql } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, pages, query } from '../engine/query.ts'
import type { Schema } from '../schema.ts'
import { currentEpoch } from './epoch.ts'
import { endLogins, lockLogins } from './logins.ts'

/** A user's counters. Each is updated in the transaction of the write that changes it. */
export type Counters = Pick<Selectable<Schema['users']>, (typeof counters)[number]>

/** With what is read together with them: the epoch of the sequence numbers, and how many bytes the user may store, if not as many as others. */
interface CountersOfEpoch extends Counters {
  epoch: string
  max_bytes: number | null
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
  'empty_tombstones',
  'empty_tombstones_after',
  'stored_versions',
  'digest',
  'digest_stamp',
] as const
type NewUser = Insertable<Schema['users']>
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
    .values({ ...user, export_key_set_at: 0 })
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
  const { id, ...set } = Object.fromEntries(counters.map((name) => [name, values[name]])) as typeof values
  return db.updateTable('users').set(set).where('id', '=', id)
})

/** Stores what was computed for the user as of `last_stamp`. Returns false if that does not hold any more. */
export async function saveDigest(trx: Trx, id: string, digest: string, last_stamp: number): Promise<boolean> {
  return (await savedDigest.run(trx, { id, digest, last_stamp })) > 0
}

const savedDigest = query(
  (db, { id, digest, last_stamp }: Placeholders<{ id: string; digest: string; last_stamp: number }>) =>
    db
      .updateTable('users')
      .set({ digest, digest_stamp: last_stamp })
      .where('id', '=', id)
      .where('last_stamp', '=', last_stamp),
)

export async function findCounters(db: Db, id: string): Promise<CountersOfEpoch> {
  return countersOf.one(db, { id })
}

const countersOf = query((db, { id }: Placeholders<{ id: string }>) => selectCounters(db, id))

function selectCounters(db: Db, id: RawBuilder<string>) {
  return db.selectFrom('users').select(counters).select(['max_bytes', currentEpoch]).where('id', '=', id)
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

/** With whether the service made it, and the user has set none of their own. */
export async function findExportKey(db: Db, id: string): Promise<{ sealed: string; isServices: boolean }> {
  const user = db.selectFrom('users').select(['export_key_sealed', 'export_key_set_at']).where('id', '=', id)
  const { export_key_sealed, export_key_set_at } = await user.executeTakeFirstOrThrow()
  return { sealed: export_key_sealed, isServices: export_key_set_at === 0 }
}

export async function saveExportKey(trx: Trx, id: string, sealed: string, now: number): Promise<void> {
  const set = { export_key_sealed: sealed, export_key_set_at: now }
  await trx.updateTable('users').set(set).where('id', '=', id).execute()
}

const usersAtOnce = 1000

export interface AccountSummary {
  id: string
  email: string
  stored_bytes: number
  stored_records: number
  stored_versions: number
  disabled_at: number | null
  /** Null if the user may store as much as others. */
  max_bytes: number | null
  /** Unix ms: the hour of the last request, or the last pull or push; 0 if there was none. */
  last_seen: number
}

/** All users but deleted ones, by id. */
export async function* listAccounts(db: Db): AsyncGenerator<AccountSummary> {
  for await (const page of pages<AccountSummary>((last) => accountsAfter(db, last?.id ?? ''))) yield* page
}

async function accountsAfter(db: Db, after: string): Promise<AccountSummary[]> {
  const { rows } = await sql<AccountSummary & Record<'last_used' | 'last_sync', number>>`
    select id, email, stored_bytes, stored_records, stored_versions, disabled_at, max_bytes,
      coalesce((select max(coalesce(last_used_at, created_at)) from logins where logins.user_id = users.id), 0) as last_used,
      coalesce((select max(last_sync) from devices where devices.user_id = users.id), 0) as last_sync
    from users where id > ${after} and not exists (select 1 from deletions where deletions.user_id = users.id)
    order by id limit ${usersAtOnce}`.execute(db)
  return rows.map(({ last_used, last_sync, ...account }) => ({ ...account, last_seen: Math.max(last_used, last_sync) }))
}

type StoredSums = Pick<Counters, 'id' | 'stored_bytes' | 'stored_records' | 'stored_versions'>

/** The sums that each user stores, a page at a time. */
export async function* pagesOfStored(db: Db): AsyncGenerator<StoredSums[]> {
  const users = db.selectFrom('users').select(['id', 'stored_bytes', 'stored_records', 'stored_versions'])
  const next = users.orderBy('id').limit(usersAtOnce)
  for await (const page of pages<StoredSums>((last) => next.where('id', '>', last?.id ?? '').execute())) {
    yield page
    // On SQLite, the next page would be read in the same turn of the event loop.
    await eventLoopTurn()
  }
}

export async function isAccount(db: Db, id: string): Promise<boolean> {
  return (await db.selectFrom('users').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
}

/** Ends all logins of the user, who cannot sign in again until `disabled_at` is null. */
export async function disableAccount(trx: Trx, id: string, now: number): Promise<void> {
  await trx.updateTable('users').set({ disabled_at: now }).where('id', '=', id).execute()
  const logins = await lockLogins(trx, id)
  await endLogins(trx, id, [...logins])
}

export async function enableAccount(trx: Trx, id: string): Promise<void> {
  await trx.updateTable('users').set({ disabled_at: null }).where('id', '=', id).execute()
}

/** Null for as many as others may. */
export async function setQuota(trx: Trx, id: string, max_bytes: number | null): Promise<void> {
  await trx.updateTable('users').set({ max_bytes }).where('id', '=', id).execute()
}

export async function isDisabled(trx: Trx, id: string): Promise<boolean> {
  const { disabled_at } = await trx
    .selectFrom('users')
    .select('disabled_at')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return disabled_at !== null
}
