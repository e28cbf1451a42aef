import { sql } from 'kysely'
import type { Database, Db, Trx } from './database.ts'
import { isOneOf, type Placeholders, query } from './query.ts'
import type { Schema } from './schema.ts'

type TokenRow = Schema['tokens']

/** The login that a token belongs to, and its user: one query per request. */
export interface Session {
  loginId: string
  userId: string
}

interface Tokens {
  kind: TokenRow['kind']
  hashes: string[]
  now: number
}

export async function findSession(
  db: Db,
  kind: TokenRow['kind'],
  hashes: string[],
  now: number,
): Promise<Session | undefined> {
  const [hash = ''] = hashes
  // Nearly all requests have one token. A list costs SQLite more than the rest of the query.
  return hashes.length === 1 ? sessionOf.first(db, { kind, hash, now }) : sessionOfAny.first(db, { kind, hashes, now })
}

const sessionOf = query(
  (db, { kind, hash, now }: Placeholders<Pick<TokenRow, 'kind' | 'hash'> & Pick<Tokens, 'now'>>) =>
    selectSession(db, { kind, now }).where('tokens.hash', '=', hash),
)

const sessionOfAny = query((db, { kind, hashes, now }: Placeholders<Tokens>) =>
  selectSession(db, { kind, now }).where(isOneOf(db, 'tokens.hash', hashes)),
)

function selectSession(db: Db, { kind, now }: Pick<Placeholders<Tokens>, 'kind' | 'now'>) {
  return db
    .selectFrom('tokens')
    .innerJoin('logins', 'logins.id', 'tokens.login_id')
    .select(['logins.id as loginId', 'logins.user_id as userId'])
    .where('tokens.kind', '=', kind)
    .where('tokens.expires_at', '>', now)
}

export async function findLogins(db: Db, kind: TokenRow['kind'], hashes: string[], now: number): Promise<string[]> {
  const rows = await db
    .selectFrom('tokens')
    .select('login_id')
    .distinct()
    .where('hash', 'in', hashes)
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
    .execute()
  return rows.map((row) => row.login_id)
}

export async function saveLogin(
  trx: Trx,
  login: Pick<Schema['logins'], 'id' | 'user_id' | 'provider_token_sealed' | 'checked_at' | 'created_at'>,
): Promise<void> {
  await trx.insertInto('logins').values(login).execute()
}

export async function saveToken(trx: Trx, token: TokenRow): Promise<void> {
  await trx.insertInto('tokens').values(token).execute()
}

/** Makes the login's session tokens that were issued before `issuedBefore` expire at `end`, if not sooner. */
export async function shortenSessions(trx: Trx, loginId: string, issuedBefore: number, end: number): Promise<void> {
  await trx
    .updateTable('tokens')
    .set({ expires_at: end })
    .where('login_id', '=', loginId)
    .where('kind', '=', 'session')
    .where('issued_at', '<', issuedBefore)
    .where('expires_at', '>', end)
    .execute()
}

/** Ends a login and deletes its tokens. Returns the provider's token, so that it can be revoked. */
export async function endLogin(trx: Trx, loginId: string) {
  return trx
    .deleteFrom('logins')
    .where('id', '=', loginId)
    .returning(['id', 'user_id', 'provider_token_sealed'])
    .executeTakeFirst()
}

export async function isLoginAlive(db: Db, loginId: string, now: number): Promise<boolean> {
  return (await findAliveLogins(db, [loginId], now)).size > 0
}

/** Keeps the login from ending before the transaction does, so that no write follows a sign-out. Undefined if it has. */
export async function holdLogin(trx: Trx, loginId: string) {
  return heldLogin.first(trx, { loginId })
}

const heldLogin = query((db, { loginId }: Placeholders<{ loginId: string }>) =>
  db.selectFrom('logins').select('ends_at').where('id', '=', loginId).forKeyShare(),
)

/** Which of the logins are alive. */
export async function findAliveLogins(db: Db, loginIds: string[], now: number): Promise<Set<string>> {
  const rows = await aliveLogins.all(db, { loginIds, now })
  return new Set(rows.map((row) => row.login_id))
}

const aliveLogins = query((db, { loginIds, now }: Placeholders<{ loginIds: string[]; now: number }>) =>
  db
    .selectFrom('tokens')
    .select('login_id')
    .distinct()
    .where(isOneOf(db, 'login_id', loginIds))
    .where('expires_at', '>', now),
)

/**
 * Leases the right to refresh this login at the provider, for 10 s by the database's clock, which all instances share.
 * Undefined if another request has it, if the provider was asked within the last minute, or if it issued no token.
 */
export async function leaseProviderToken(trx: Trx, loginId: string, now: number, databaseNow: Database['now']) {
  const login = await trx
    .selectFrom('logins')
    .innerJoin('users', 'users.id', 'logins.user_id')
    .select(['logins.user_id', 'logins.provider_token_sealed', 'logins.unanswered', 'users.subject'])
    .where('logins.id', '=', loginId)
    .where('logins.provider_token_sealed', 'is not', null)
    .where('logins.asking_until', '<=', databaseNow)
    .where('logins.checked_at', '<=', now - 60_000)
    .forNoKeyUpdate('logins')
    .executeTakeFirst()
  if (!login?.provider_token_sealed) return undefined
  await trx
    .updateTable('logins')
    .set({ asking_until: sql`${databaseNow} + 10000`, unanswered: 1 })
    .where('id', '=', loginId)
    .execute()
  return {
    userId: login.user_id,
    sealed: login.provider_token_sealed,
    subject: login.subject,
    unanswered: login.unanswered === 1,
  }
}

/** Stores the provider's response and releases the lease. */
export async function saveProviderAnswer(trx: Trx, loginId: string, sealed: string, checkedAt: number): Promise<void> {
  await trx
    .updateTable('logins')
    .set({ provider_token_sealed: sealed, checked_at: checkedAt, asking_until: 0, unanswered: 0 })
    .where('id', '=', loginId)
    .execute()
}

/** Releases the lease without a new token. `unanswered`: the provider may have issued one that did not reach us. */
export async function releaseProviderToken(trx: Trx, loginId: string, unanswered: boolean): Promise<void> {
  const released = { asking_until: 0, unanswered: Number(unanswered) }
  await trx.updateTable('logins').set(released).where('id', '=', loginId).execute()
}

/** From now on the provider is not asked about the login, which ends at `end` at the latest. */
export async function dropProviderToken(trx: Trx, loginId: string, end: number): Promise<void> {
  const dropped = { provider_token_sealed: null, asking_until: 0, unanswered: 0, ends_at: end }
  await trx.updateTable('logins').set(dropped).where('id', '=', loginId).execute()
  await trx
    .updateTable('tokens')
    .set({ expires_at: end })
    .where('login_id', '=', loginId)
    .where('expires_at', '>', end)
    .execute()
}
