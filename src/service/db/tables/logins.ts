import type { Selectable } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query } from '../engine/query.ts'
import type { Schema } from '../schema.ts'

/** A login is where its user's other rows are, so it is never looked up without the user. */
export interface LoginKey {
  userId: string
  loginId: string
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

/** Which of the logins are alive: those that have a valid token left. */
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
