import { v7 as uuidv7 } from 'uuid'
import type { Access } from '../config/access.ts'
import type { Database } from '../db/engine/database.ts'
import { endLogin, endOldestLogins, type LoginKey, saveLogin, sortedById } from '../db/tables/logins.ts'
import { useNonce } from '../db/tables/nonces.ts'
import { noteAuthTime } from '../db/tables/providers.ts'
import { isDisabled, saveUser } from '../db/tables/users.ts'
import type { Notices } from '../notices/notices.ts'
import type { Exchanged } from '../provider/provider.ts'
import { generateExportKey } from '../seal/export-key.ts'
import type { Seal } from '../seal/seal.ts'
import { hourOf, issueToken } from './sessions.ts'

/** Characters. Enough to tell a person's browsers apart. */
const maxUserAgent = 200

export interface SignInParts {
  config: { access: Pick<Access, 'isClosed'> }
  database: Pick<Database, 'write'>
  seal: Seal
  notices: Pick<Notices, 'publishEnd'>
  clock: () => number
}

interface SignedIn extends Pick<Exchanged, 'identity' | 'refreshToken'> {
  authenticatedAt: number | null
}

/** The attempt is already completed: the browser brought back a code twice. */
export class UsedAttemptError extends Error {}

/** The operator has disabled this user. */
export class DisabledUserError extends Error {}

/** Sign-up is closed, and the person is not a user. */
export class ClosedError extends Error {}

/**
 * Creates the user at the first sign-in, and a login with its two tokens, all or nothing. Marks the attempt as used.
 * Ends the user's oldest logins beyond the limit, and the browser's previous ones, whose cookies are overwritten: a
 * person may sign in again because they distrust a previous one. The provider tokens of ended logins are not revoked,
 * because some providers would then end the user's new sign-in, too.
 */
export async function signIn(
  parts: SignInParts,
  { identity, refreshToken, authenticatedAt }: SignedIn,
  attempt: { nonce: string; expiresAt: number },
  userAgent: string,
  replaced: LoginKey[] = [],
): Promise<{ session: string; refresh: string }> {
  const { config, database, seal, clock, notices } = parts
  const now = clock()
  const { over, ...tokens } = await database.write(async (trx) => {
    const isFirst = await useNonce(trx, { nonce: attempt.nonce, expires_at: attempt.expiresAt })
    if (!isFirst) throw new UsedAttemptError('the sign-in was completed before')
    if (authenticatedAt) await noteAuthTime(trx, identity.issuer, now)
    const newId = uuidv7()
    const userId = await saveUser(trx, {
      ...identity,
      id: newId,
      email_verified: Number(identity.email_verified),
      export_key_sealed: generateExportKey(seal, newId).sealed,
      created_at: now,
    })
    if (userId === newId && config.access.isClosed) throw new ClosedError('SIGN_UP is closed, and this is no user yet')
    if (await isDisabled(trx, userId)) throw new DisabledUserError('the user is disabled')
    const loginId = uuidv7()
    const binding = { purpose: 'provider-token', userId, rowId: loginId } as const
    const provider_token_sealed = refreshToken === null ? null : seal.seal(Buffer.from(refreshToken), binding)
    await saveLogin(trx, {
      id: loginId,
      user_id: userId,
      provider_token_sealed,
      checked_at: now,
      created_at: now,
      authenticated_at: authenticatedAt,
      user_agent: userAgent.slice(0, maxUserAgent),
      last_used_at: hourOf(now),
    })
    const over = (await endOldestLogins(trx, userId, loginId)).map((id) => ({ userId, loginId: id }))
    for (const login of sortedById(replaced)) if (await endLogin(trx, login)) over.push(login)
    return {
      over,
      session: await issueToken(trx, 'session', { userId, loginId }, now),
      refresh: await issueToken(trx, 'refresh', { userId, loginId }, now),
    }
  }, `${identity.issuer} ${identity.subject}`)
  for (const login of over) notices.publishEnd(login)
  return tokens
}
