import { sql } from 'kysely'
import type { Database, Trx } from '../engine/database.ts'
import type { LoginKey } from './logins.ts'

/** About one login, the provider is not asked more often. */
const askedEveryMs = 60_000

/**
 * Leases the right to refresh this login at the provider, by the database's clock, which all instances share. Undefined if
 * another request has it, if the provider was asked not long ago, or if it issued no token.
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
    .select(['logins.provider_token_sealed', 'logins.unanswered', 'users.subject'])
    .where('logins.user_id', '=', login.userId)
    .where('logins.id', '=', login.loginId)
    .where('logins.provider_token_sealed', 'is not', null)
    .where('logins.asking_until', '<=', databaseNow)
    .where('logins.checked_at', '<=', now - askedEveryMs)
    .forNoKeyUpdate('logins')
    .executeTakeFirst()
  if (!found?.provider_token_sealed) return undefined
  await updateLogin(trx, login)
    .set({ asking_until: sql`${databaseNow} + ${leaseMs}`, unanswered: 1 })
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
