import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { type Selectable, sql } from 'kysely'
import { quotas } from '../../../../generated/limits.ts'
import type { Database, Db, Trx } from '../engine/database.ts'
import { isOneOf, isOneOfPairs, type Placeholders, query } from '../engine/query.ts'
import type { Schema } from '../schema.ts'

/** Citus keeps a user's rows on one server, so logins are always looked up by user. */
export interface LoginKey {
  userId: string
  loginId: string
}

/** The owner of writes to a user's logins. Not the user, so that these writes do not wait for the user's pushes. */
export function ownerOfLogins({ userId }: Pick<LoginKey, 'userId'>): string {
  return `logins of ${userId}`
}

/** Removes duplicates and sorts by id. Transactions that lock several logins use this order, and so cannot deadlock. */
export function sortedById(logins: LoginKey[]): LoginKey[] {
  const byId = new Map(logins.map((login) => [login.loginId, login]))
  return [...byId.values()].sort((one, other) => (one.loginId < other.loginId ? -1 : 1))
}

export async function saveLogin(
  trx: Trx,
  login: Pick<
    Selectable<Schema['logins']>,
    | 'id'
    | 'user_id'
    | 'provider_token_sealed'
    | 'checked_at'
    | 'created_at'
    | 'authenticated_at'
    | 'user_agent'
    | 'last_used_at'
  >,
): Promise<void> {
  await trx.insertInto('logins').values(login).execute()
}

/** A login that was ended, with the provider's token to revoke. */
export type EndedLogin = Pick<Schema['logins'], 'id' | 'user_id' | 'provider_token_sealed'>

/** Ends a login. The schema deletes its tokens with its row. */
export async function endLogin(trx: Trx, { userId, loginId }: LoginKey): Promise<EndedLogin | undefined> {
  const [ended] = await endLogins(trx, userId, [loginId])
  return ended
}

/** Ends logins of a user. The schema deletes their tokens with their rows. */
export async function endLogins(trx: Trx, userId: string, ids: string[]): Promise<EndedLogin[]> {
  const ended: EndedLogin[] = []
  for (let from = 0; from < ids.length; from += endedAtOnce) {
    if (from > 0) await eventLoopTurn()
    const part = ids.slice(from, from + endedAtOnce)
    const logins = trx.deleteFrom('logins').where('user_id', '=', userId).where('id', 'in', part)
    ended.push(...(await logins.returning(['id', 'user_id', 'provider_token_sealed']).execute()))
  }
  return ended
}

/** Logins that end per turn of the event loop. Few, because each takes up to 33 tokens with it. */
export const endedAtOnce = 16

/** The most logins per user. */
const { logins: maxLogins } = quotas

/** Makes room for a new login by ending the user's oldest ones. Returns their ids. */
export async function endOldestLogins(trx: Trx, userId: string, newId: string): Promise<string[]> {
  const others = trx.selectFrom('logins').select('id').where('user_id', '=', userId).where('id', '<>', newId)
  const beyond = others
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(endedAtOnce)
    .offset(maxLogins - 1)
  const ended = await trx
    .deleteFrom('logins')
    .where('user_id', '=', userId)
    .where('id', 'in', beyond)
    .returning('id')
    .execute()
  return ended.map(({ id }) => id)
}

export async function isLoginAlive(db: Db, login: LoginKey, now: number): Promise<boolean> {
  return (await findAliveLogins(db, [login], now)).size > 0
}

/** Locks the login, so that it cannot end before the transaction does. Undefined if it has ended. */
export const { first: holdLogin } = query((db, { userId, loginId }: Placeholders<LoginKey>) =>
  db.selectFrom('logins').select('ends_at').where('user_id', '=', userId).where('id', '=', loginId).forKeyShare(),
)

/** The tokens of logins that exist: the shell `sqlite3` deletes a login without its tokens. */
export function selectTokens(db: Db) {
  return db
    .selectFrom('tokens')
    .innerJoin('logins', (join) =>
      join.onRef('logins.user_id', '=', 'tokens.user_id').onRef('logins.id', '=', 'tokens.login_id'),
    )
}

/** The ids of those logins that still have a valid token. */
export async function findAliveLogins(db: Db, logins: LoginKey[], now: number): Promise<Set<string>> {
  const [userId = '', another] = new Set(logins.map((login) => login.userId))
  const rows = another
    ? await aliveOfSeveral.all(db, { pairs: JSON.stringify(logins.map((one) => [one.userId, one.loginId])), now })
    : await aliveOfUser.all(db, { userId, loginIds: logins.map(({ loginId }) => loginId), now })
  return new Set(rows.map(({ id }) => id))
}

/** `exists` ends at the first valid token of a login. */
const selectAlive = (db: Db, now: Placeholders<{ now: number }>['now']) =>
  db
    .selectFrom('logins')
    .select('id')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('tokens')
          .select('hash')
          .whereRef('tokens.user_id', '=', 'logins.user_id')
          .whereRef('tokens.login_id', '=', 'logins.id')
          .where('expires_at', '>', now),
      ),
    )

const aliveOfUser = query(
  (db, { userId, loginIds, now }: Placeholders<{ userId: string; loginIds: string[]; now: number }>) =>
    selectAlive(db, now)
      .where('user_id', '=', userId)
      .where(isOneOf(db, 'id', loginIds)),
)

const aliveOfSeveral = query((db, { pairs, now }: Placeholders<{ pairs: string; now: number }>) =>
  selectAlive(db, now).where(isOneOfPairs(db, ['user_id', 'id'], pairs)),
)

type LoginRow = Pick<
  Selectable<Schema['logins']>,
  'id' | 'created_at' | 'authenticated_at' | 'last_used_at' | 'user_agent'
>

/** A user's logins that have a valid token, before the id `before`, newest first: ids begin with the time. */
export async function listLogins(db: Db, page: Page): Promise<(LoginRow & { authenticated_at: number })[]> {
  // `~` comes after every id.
  const rows = await newestLogins.all(db, { ...page, before: page.before ?? '~' })
  return rows.map((row) => ({ ...row, authenticated_at: authenticationOf(row) }))
}

interface Page {
  userId: string
  before?: string | undefined
  limit: number
  now: number
}

const newestLogins = query((db, { userId, before, limit, now }: Placeholders<Page>) =>
  selectAlive(db, now)
    .select(['created_at', 'authenticated_at', 'last_used_at', 'user_agent'])
    .where('user_id', '=', userId)
    .where('id', '<', before)
    .orderBy('id', 'desc')
    .limit(limit),
)

/** Stores the hour of the last use (its start, Unix ms), unless this or a later one is stored already. */
export async function saveUse(trx: Trx, { userId, loginId }: LoginKey, hour: number): Promise<void> {
  await trx
    .updateTable('logins')
    .set({ last_used_at: hour })
    .where('user_id', '=', userId)
    .where('id', '=', loginId)
    .where('last_used_at', '<', hour)
    .execute()
}

/**
 * Locks the given logins, or all of the user's, until the transaction ends. Locks in the order of ids, like other
 * transactions that lock several, so that they cannot deadlock. Returns the ids of those that exist.
 */
export async function lockLogins(trx: Trx, userId: string, ids?: string[]): Promise<Set<string>> {
  const logins = trx.selectFrom('logins').select('id').where('user_id', '=', userId).orderBy('id').forUpdate()
  const rows = await (ids ? logins.where('id', 'in', ids) : logins).execute()
  return new Set(rows.map(({ id }) => id))
}

/** When the person last authenticated at the provider, at the sign-in or before. Undefined if the login has ended. */
export async function findAuthentication(db: Db, { userId, loginId }: LoginKey): Promise<number | undefined> {
  const login = db.selectFrom('logins').where('user_id', '=', userId).where('id', '=', loginId)
  const found = await login.select(['created_at', 'authenticated_at']).executeTakeFirst()
  return found && authenticationOf(found)
}

function authenticationOf({ created_at, authenticated_at }: Pick<LoginRow, 'created_at' | 'authenticated_at'>): number {
  return Math.min(created_at, authenticated_at ?? created_at)
}

/** How long (ms) after a sign-in, or a refresh that it accepted, the provider is not asked about a login again. */
const askedEveryMs = 60_000

/**
 * Leases the right to refresh this login at the provider, by the database's clock, which all instances share. Undefined
 * if another request has the lease, the last sign-in or accepted refresh is recent, or there is no provider token.
 */
export async function leaseProviderToken(
  trx: Trx,
  login: LoginKey,
  now: number,
  databaseNow: Database['now'],
  leaseMs: number,
) {
  const found = await trx
    .selectFrom('logins')
    .innerJoin('users', 'users.id', 'logins.user_id')
    .select(['logins.provider_token_sealed', 'logins.unanswered', 'logins.ends_at', 'users.issuer', 'users.subject'])
    .where('logins.user_id', '=', login.userId)
    .where('logins.id', '=', login.loginId)
    .where('logins.provider_token_sealed', 'is not', null)
    // A lease that ends far too late was written with a wrong clock. One that ends slightly later than a new one may be
    // of a request for which this statement has waited.
    .where(({ or, eb }) =>
      or([
        eb('logins.asking_until', '<=', databaseNow),
        eb('logins.asking_until', '>', sql<number>`${databaseNow} + ${2 * leaseMs}`),
      ]),
    )
    .where(({ or, eb }) =>
      or([eb('logins.checked_at', '<=', now - askedEveryMs), eb('logins.checked_at', '>', now + askedEveryMs)]),
    )
    .forNoKeyUpdate('logins')
    .executeTakeFirst()
  if (!found?.provider_token_sealed) return undefined
  await updateLogin(trx, login)
    .set({ asking_until: sql`${databaseNow} + ${leaseMs}`, unanswered: 1 })
    .execute()
  const { provider_token_sealed: sealed, issuer, subject, ends_at, unanswered } = found
  return { sealed, issuer, subject, ends_at, unanswered: unanswered === 1 }
}

/** Stores the provider's token, new or old, and releases the lease, unless the token has been dropped meanwhile. */
export async function saveProviderAnswer(trx: Trx, login: LoginKey, sealed: string, checkedAt: number): Promise<void> {
  const released = { asking_until: 0, unanswered: 0, ends_at: null }
  const answered = { ...released, provider_token_sealed: sealed, checked_at: checkedAt }
  await updateLogin(trx, login).set(answered).where('provider_token_sealed', 'is not', null).execute()
}

/** Releases the lease without a new token. `unanswered`: the provider may have issued a token that did not arrive. */
export async function releaseProviderToken(trx: Trx, login: LoginKey, unanswered: boolean): Promise<void> {
  await updateLogin(trx, login)
    .set({ asking_until: 0, unanswered: Number(unanswered) })
    .execute()
}

/**
 * Ends the login's sessions at `end`, not at once, after the provider has refused a refresh: perhaps an operator made a
 * mistake. Only a refresh that the provider accepts lifts this limit.
 */
export async function limitSessions(trx: Trx, login: LoginKey, end: number): Promise<void> {
  await updateLogin(trx, login).set({ ends_at: end }).execute()
  await tokensBeyond(trx, login, end).where('kind', '=', 'session').execute()
}

/** Deletes the provider's token: the provider is not asked again, and the login ends at `end` at the latest. */
export async function dropProviderToken(trx: Trx, login: LoginKey, end: number): Promise<void> {
  const dropped = { provider_token_sealed: null, asking_until: 0, unanswered: 0, ends_at: end }
  await updateLogin(trx, login).set(dropped).execute()
  await tokensBeyond(trx, login, end).execute()
}

function tokensBeyond(trx: Trx, { userId, loginId }: LoginKey, end: number) {
  return trx
    .updateTable('tokens')
    .set({ expires_at: end })
    .where('user_id', '=', userId)
    .where('login_id', '=', loginId)
    .where('expires_at', '>', end)
}

function updateLogin(trx: Trx, { userId, loginId }: LoginKey) {
  return trx.updateTable('logins').where('user_id', '=', userId).where('id', '=', loginId)
}
