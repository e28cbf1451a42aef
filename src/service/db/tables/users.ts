import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { type Insertable, type RawBuilder, type Selectable, sql } from 'kysely'
import { dayMs } from '../../../protocol/order.ts'
import type { Db, Trx } from '../engine/database.ts'
import { attemptRead } from '../engine/probe.ts'
import { isOneOf, type Placeholders, pages, query } from '../engine/query.ts'
import type { Schema } from '../schema.ts'
import { currentEpoch } from './epoch.ts'
import { claimAwaited } from './identities.ts'
import { endLogins, lockLogins } from './logins.ts'

/** A user's counters. Each is updated in the transaction that changes what it counts. */
export type Counters = Pick<Selectable<Schema['users']>, (typeof counters)[number]>

/** The counters, the user's epoch, and the user's own quota in bytes, if there is one. */
interface CountersOfEpoch extends Counters {
  epoch: string
  max_bytes: number | null
}

/** A user whose row is locked, so that the counters stay the same until they are written. */
export type LockedUser = CountersOfEpoch

const counters = [
  'id',
  'last_sequence',
  'live_bookmarks',
  'stored_bytes',
  'version_bytes',
  'stored_records',
  'empty_tombstones',
  'empty_tombstones_after',
  'stored_versions',
  'digest',
  'history_digest',
  'group_digest',
] as const
type NewUser = Insertable<Schema['users']>
type Profile = Pick<NewUser, 'email' | 'name' | 'avatar_url' | 'email_verified'>

/**
 * Creates the user at the first sign-in, or claims one that was moved here by address (`claimAwaited`). Other sign-ins
 * only update the profile. Returns the user's id.
 */
export async function saveUser(trx: Trx, user: NewUser): Promise<string> {
  const { user_id } = await trx
    .insertInto('identities')
    .values({ issuer: user.issuer, subject: user.subject, user_id: user.id })
    // Also locks the user: the second of two simultaneous first sign-ins finds the first one's user.
    .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doUpdateSet({ issuer: user.issuer }))
    .returning('user_id')
    .executeTakeFirstOrThrow()
  const id = user_id === user.id ? await claimAwaited(trx, user) : user_id
  if (id === undefined) {
    await trx.insertInto('users').values(user).execute()
    return user.id
  }
  const { email, name, avatar_url, email_verified }: Profile = user
  await trx.updateTable('users').set({ email, name, avatar_url, email_verified }).where('id', '=', id).execute()
  return id
}

export async function findProfile(db: Db, id: string): Promise<Profile | undefined> {
  const profile = db.selectFrom('users').select(['email', 'name', 'avatar_url', 'email_verified'])
  return profile.where('id', '=', id).executeTakeFirst()
}

/**
 * Locks the user's row until the commit. Every change of a user's records does, so that sequence numbers become visible
 * in order. This kind of lock does not block inserts of rows that refer to the user by a foreign key.
 */
export async function lockUser(trx: Trx, id: string): Promise<LockedUser> {
  return countersToUpdate.one(trx, { id })
}

const countersToUpdate = query((db, { id }: Placeholders<{ id: string }>) => selectCounters(db, id).forNoKeyUpdate())

export const { run: saveCounters } = query((db, values: Placeholders<Counters>) => {
  const { id, ...set } = Object.fromEntries(counters.map((name) => [name, values[name]])) as typeof values
  return db.updateTable('users').set(set).where('id', '=', id)
})

export async function findCounters(db: Db, id: string): Promise<CountersOfEpoch> {
  return countersOf.one(db, { id })
}

const countersOf = query((db, { id }: Placeholders<{ id: string }>) => selectCounters(db, id))

function selectCounters(db: Db, id: RawBuilder<string>) {
  return db.selectFrom('users').select(counters).select(['max_bytes', currentEpoch]).where('id', '=', id)
}

/** The last sequence number of each of these users, by id. Users that do not exist are left out. */
export async function findLastSequences(db: Db, ids: string[]): Promise<Map<string, number>> {
  const rows = await lastSequences.all(db, { ids })
  return new Map(rows.map(({ id, last_sequence }) => [id, last_sequence]))
}

const lastSequences = query((db, { ids }: Placeholders<{ ids: string[] }>) =>
  db
    .selectFrom('users')
    .select(['id', 'last_sequence'])
    .where(isOneOf(db, 'id', ids)),
)

/** The sealed key of exports. `isGenerated`: the service made it, and the user has not set another. */
export async function findExportKey(db: Db, id: string): Promise<{ sealed: string; isGenerated: boolean }> {
  const user = db.selectFrom('users').select(['export_key_sealed', 'export_key_set_at']).where('id', '=', id)
  const { export_key_sealed, export_key_set_at } = await user.executeTakeFirstOrThrow()
  return { sealed: export_key_sealed, isGenerated: export_key_set_at === 0 }
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
  /** The user's own quota, or null. */
  max_bytes: number | null
  /** Unix ms of the hour of the last request by a login that exists, or of the last sync; 0 if neither is known. */
  last_seen: number
}

/** A user of whom not even the summary can be read, because a part of the database is damaged. */
export interface DamagedAccount {
  id: string
  damage: Error & { code: string }
}

/** All users except deleted ones, ordered by id. */
export async function* listAccounts(db: Db): AsyncGenerator<AccountSummary | DamagedAccount> {
  for await (const ids of pagesOfUserIds(db)) {
    const { value: page } = await attemptRead(() => summarize(db, sql`id between ${ids[0]} and ${ids.at(-1)}`))
    if (page) yield* page
    else yield* listSingly(db, ids)
  }
}

async function* listSingly(db: Db, ids: string[]): AsyncGenerator<AccountSummary | DamagedAccount> {
  for (const id of ids) {
    const { value, damage } = await attemptRead(() => findAccountSummary(db, id))
    if (value) yield value
    if (damage) yield { id, damage }
  }
}

/** The ids of all users, from indexes: they name the users even if the users' rows are damaged. */
export async function* pagesOfUserIds(db: Db): AsyncGenerator<string[]> {
  const users = db.selectFrom('users').select('id').orderBy('id').limit(usersAtOnce)
  const identities = db.selectFrom('identities').select('user_id as id').distinct().orderBy('id').limit(usersAtOnce)
  const read = async (last: { id: string } = { id: '' }) => {
    const { value } = await attemptRead(() => users.where('id', '>', last.id).execute())
    return value ?? identities.where('user_id', '>', last.id).execute()
  }
  for await (const page of pages(read)) {
    yield page.map(({ id }) => id)
    await eventLoopTurn()
  }
}

/** Undefined for a deleted or unknown account. */
export async function findAccountSummary(db: Db, id: string): Promise<AccountSummary | undefined> {
  const [account] = await summarize(db, sql`id = ${id}`)
  return account
}

async function summarize(db: Db, condition: RawBuilder<unknown>): Promise<AccountSummary[]> {
  const { rows } = await sql<AccountSummary & Record<'last_used' | 'last_sync', number>>`
    select id, email, stored_bytes, stored_records, stored_versions, disabled_at, max_bytes,
      coalesce((select max(last_used_at) from logins where logins.user_id = users.id), 0) as last_used,
      coalesce((select max(last_sync) from devices where devices.user_id = users.id), 0) as last_sync
    from users where ${condition} and not exists (select 1 from deletions where deletions.user_id = users.id)
    order by id limit ${usersAtOnce}`.execute(db)
  return rows.map(({ last_used, last_sync, ...account }) => ({ ...account, last_seen: Math.max(last_used, last_sync) }))
}

type StoredSums = Pick<Counters, 'id' | 'stored_bytes' | 'stored_records' | 'stored_versions'>

/** Each user's storage sums, in pages. */
export async function* pagesOfStored(db: Db): AsyncGenerator<StoredSums[]> {
  const users = db.selectFrom('users').select(['id', 'stored_bytes', 'stored_records', 'stored_versions'])
  const next = users.orderBy('id').limit(usersAtOnce)
  for await (const page of pages<StoredSums>((last) => next.where('id', '>', last?.id ?? '').execute())) {
    yield page
    // Otherwise, SQLite would read all pages in one turn of the event loop.
    await eventLoopTurn()
  }
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

/** Sets the user's quota; null for the default. */
export async function setQuota(trx: Trx, id: string, max_bytes: number | null): Promise<void> {
  await trx.updateTable('users').set({ max_bytes }).where('id', '=', id).execute()
}

/** Counts a deleted bookmark that the user erases without a recent sign-in. Returns false beyond `most` a day. */
export async function countOldPurge(trx: Trx, id: string, now: number, most: number): Promise<boolean> {
  const isOver = sql<boolean>`old_purges_since <= ${now - dayMs}`
  const { numUpdatedRows } = await trx
    .updateTable('users')
    .set({
      old_purges: sql`case when ${isOver} then 1 else old_purges + 1 end`,
      old_purges_since: sql`case when ${isOver} then ${now} else old_purges_since end`,
    })
    .where('id', '=', id)
    .where(({ or, eb }) => or([isOver, eb('old_purges', '<', most)]))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function isDisabled(trx: Trx, id: string): Promise<boolean> {
  const { disabled_at } = await trx
    .selectFrom('users')
    .select('disabled_at')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return disabled_at !== null
}
