import { type Selectable, sql } from 'kysely'
import type { Database, Db, Trx } from './database.ts'
import { lookup } from './lookup.ts'
import { type Answer, isOneOf, onceAnswered, type Placeholders, query } from './query.ts'
import type { Schema } from './schema.ts'

type TokenRow = Schema['tokens']

/** A login is where its user's other rows are, so it is never looked up without the user. */
export interface LoginKey {
  userId: string
  loginId: string
}

/** The login that a token belongs to: one query per request. */
export type Session = LoginKey

interface Tokens {
  kind: TokenRow['kind']
  hashes: string[]
  now: number
}

interface TokensOfUsers extends Tokens {
  /** Whom the tokens name. */
  userIds: string[]
}

export function findSession(db: Db, tokens: TokensOfUsers): Answer<Session | undefined> {
  const { kind, hashes, userIds, now } = tokens
  const { 0: hash = '', length } = hashes
  const { 0: userId = '' } = userIds
  // Nearly all requests have one token. A list costs SQLite more than the rest of the query.
  const found = length === 1 ? sessionOf.first(db, { kind, userId, hash, now }) : sessionOfAny.first(db, tokens)
  return onceAnswered(found, (session) => session ?? sessionOfUnnamed.first(db, tokens))
}

const sessionOf = lookup(
  { userId: 'text', hash: 'text', kind: 'text', now: 'bigint' },
  (db, { userId, hash, kind, now }: Placeholders<Omit<Tokens, 'hashes'> & { userId: string; hash: string }>) =>
    selectSession(db, { kind, now }).where('user_id', '=', userId).where('hash', '=', hash),
)

const sessionOfAny = query((db, { userIds, hashes, ...tokens }: Placeholders<TokensOfUsers>) =>
  selectSession(db, tokens)
    .where(isOneOf(db, 'user_id', userIds))
    .where(isOneOf(db, 'hash', hashes)),
)

/** A token of an older version names nobody. It is valid for 30 days, and so is the need for this query. */
const sessionOfUnnamed = query((db, { hashes, kind, now }: Placeholders<Tokens>) =>
  selectSession(db, { kind, now }).where(isOneOf(db, 'hash', hashes)),
)

function selectSession(db: Db, { kind, now }: Pick<Placeholders<Tokens>, 'kind' | 'now'>) {
  return db
    .selectFrom('tokens')
    .select(['login_id as loginId', 'user_id as userId'])
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
}

/** Of all of the tokens that are valid. */
export async function findLogins(db: Db, { kind, hashes, userIds, now }: TokensOfUsers): Promise<LoginKey[]> {
  const valid = db
    .selectFrom('tokens')
    .select(['hash', 'user_id as userId', 'login_id as loginId'])
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
  const named = await valid.where('user_id', 'in', userIds).where('hash', 'in', hashes).execute()
  const found = new Set(named.map(({ hash }) => hash))
  const others = hashes.filter((hash) => !found.has(hash))
  const unnamed = others.length === 0 ? [] : await valid.where('hash', 'in', others).execute()
  return [...named, ...unnamed]
}

export async function saveLogin(
  trx: Trx,
  login: Pick<
    Selectable<Schema['logins']>,
    'id' | 'user_id' | 'provider_token_sealed' | 'checked_at' | 'created_at' | 'user_agent' | 'last_used_at'
  >,
): Promise<void> {
  await trx.insertInto('logins').values(login).execute()
}

export async function saveToken(trx: Trx, token: TokenRow): Promise<void> {
  await trx.insertInto('tokens').values(token).execute()
}

/** Makes the login's session tokens that were issued before `issuedBefore` expire at `end`, if not sooner. */
export async function shortenSessions(
  trx: Trx,
  { userId, loginId }: LoginKey,
  issuedBefore: number,
  end: number,
): Promise<void> {
  await trx
    .updateTable('tokens')
    .set({ expires_at: end })
    .where('user_id', '=', userId)
    .where('login_id', '=', loginId)
    .where('kind', '=', 'session')
    .where('issued_at', '<', issuedBefore)
    .where('expires_at', '>', end)
    .execute()
}

/** Of a login that was ended; the provider's token is to be revoked. */
export type EndedLogin = Pick<Schema['logins'], 'id' | 'user_id' | 'provider_token_sealed'>

/** Ends a login and deletes its tokens. */
export async function endLogin(trx: Trx, { userId, loginId }: LoginKey): Promise<EndedLogin | undefined> {
  const [ended] = await endLogins(trx, userId, [loginId])
  return ended
}

/** Ends logins of a user, and deletes their tokens. */
export async function endLogins(trx: Trx, userId: string, ids: string[]): Promise<EndedLogin[]> {
  if (ids.length === 0) return []
  return trx
    .deleteFrom('logins')
    .where('user_id', '=', userId)
    .where('id', 'in', ids)
    .returning(['id', 'user_id', 'provider_token_sealed'])
    .execute()
}

export async function isLoginAlive(db: Db, login: LoginKey, now: number): Promise<boolean> {
  return (await findAliveLogins(db, [login], now)).size > 0
}

/** Keeps the login from ending before the transaction does, so that no write follows a sign-out. Undefined if it has. */
export async function holdLogin(trx: Trx, { userId, loginId }: LoginKey) {
  return heldLogin.first(trx, { userId, loginId })
}

const heldLogin = query((db, { userId, loginId }: Placeholders<LoginKey>) =>
  db.selectFrom('logins').select('ends_at').where('user_id', '=', userId).where('id', '=', loginId).forKeyShare(),
)

/** As `holdLogin`, for several, in the order of their ids, as all do who lock more than one. Resolves to those that live. */
export async function holdLogins(trx: Trx, userId: string, loginIds: Set<string>): Promise<Set<string>> {
  const [loginId = ''] = loginIds
  // Nearly always it is one. A list costs SQLite more.
  if (loginIds.size === 1) return (await holdLogin(trx, { userId, loginId })) ? loginIds : new Set()
  const held = await heldLogins.all(trx, { userId, loginIds: [...loginIds] })
  return new Set(held.map(({ id }) => id))
}

const heldLogins = query((db, { userId, loginIds }: Placeholders<{ userId: string; loginIds: string[] }>) =>
  db
    .selectFrom('logins')
    .select('id')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'id', loginIds))
    .orderBy('id')
    .forKeyShare(),
)

/** Which of the logins are alive. */
export async function findAliveLogins(db: Db, logins: LoginKey[], now: number): Promise<Set<string>> {
  const userIds = [...new Set(logins.map(({ userId }) => userId))]
  const loginIds = [...new Set(logins.map(({ loginId }) => loginId))]
  const rows = await aliveLogins.all(db, { userIds, loginIds, now })
  return new Set(rows.map((row) => row.login_id))
}

interface LoginsOfUsers {
  userIds: string[]
  loginIds: string[]
  now: number
}

const aliveLogins = query((db, { userIds, loginIds, now }: Placeholders<LoginsOfUsers>) =>
  db
    .selectFrom('tokens')
    .select('login_id')
    .distinct()
    .where(isOneOf(db, 'user_id', userIds))
    .where(isOneOf(db, 'login_id', loginIds))
    .where('expires_at', '>', now),
)

/**
 * Leases the right to refresh this login at the provider, for 10 s by the database's clock, which all instances share.
 * Undefined if another request has it, if the provider was asked within the last minute, or if it issued no token.
 */
export async function leaseProviderToken(trx: Trx, login: LoginKey, now: number, databaseNow: Database['now']) {
  const found = await trx
    .selectFrom('logins')
    .innerJoin('users', 'users.id', 'logins.user_id')
    .select(['logins.provider_token_sealed', 'logins.unanswered', 'users.subject'])
    .where('logins.user_id', '=', login.userId)
    .where('logins.id', '=', login.loginId)
    .where('logins.provider_token_sealed', 'is not', null)
    .where('logins.asking_until', '<=', databaseNow)
    .where('logins.checked_at', '<=', now - 60_000)
    .forNoKeyUpdate('logins')
    .executeTakeFirst()
  if (!found?.provider_token_sealed) return undefined
  await updateLogin(trx, login)
    .set({ asking_until: sql`${databaseNow} + 10000`, unanswered: 1 })
    .execute()
  return { sealed: found.provider_token_sealed, subject: found.subject, unanswered: found.unanswered === 1 }
}

/** Stores the provider's response and releases the lease. */
export async function saveProviderAnswer(trx: Trx, login: LoginKey, sealed: string, checkedAt: number): Promise<void> {
  const answered = { provider_token_sealed: sealed, checked_at: checkedAt, asking_until: 0, unanswered: 0 }
  await updateLogin(trx, login).set(answered).execute()
}

/** Releases the lease without a new token. `unanswered`: the provider may have issued one that did not reach us. */
export async function releaseProviderToken(trx: Trx, login: LoginKey, unanswered: boolean): Promise<void> {
  await updateLogin(trx, login)
    .set({ asking_until: 0, unanswered: Number(unanswered) })
    .execute()
}

/** From now on the provider is not asked about the login, which ends at `end` at the latest. */
export async function dropProviderToken(trx: Trx, login: LoginKey, end: number): Promise<void> {
  const dropped = { provider_token_sealed: null, asking_until: 0, unanswered: 0, ends_at: end }
  await updateLogin(trx, login).set(dropped).execute()
  await trx
    .updateTable('tokens')
    .set({ expires_at: end })
    .where('user_id', '=', login.userId)
    .where('login_id', '=', login.loginId)
    .where('expires_at', '>', end)
    .execute()
}

function updateLogin(trx: Trx, { userId, loginId }: LoginKey) {
  return trx.updateTable('logins').where('user_id', '=', userId).where('id', '=', loginId)
}
