import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/engine/database.ts'
import { findIssuer } from '../db/tables/identities.ts'
import {
  type EndedLogin,
  endedAtOnce,
  endLogin,
  endLogins,
  type LoginKey,
  lockLogins,
  ownerOfLogins,
  sortedById,
} from '../db/tables/logins.ts'
import type { Notices } from '../notices/notices.ts'
import { isSameIssuer } from '../provider/issuer.ts'
import type { Provider } from '../provider/provider.ts'
import type { Seal } from '../seal/seal.ts'
import { actsFor, findLoginsOf, type TokenHeaders } from './sessions.ts'

export interface SignOutParts {
  database: Pick<Database, 'db' | 'write'>
  seal: Seal
  provider: Pick<Provider, 'issuer' | 'revoke'>
  notices: Pick<Notices, 'publishEnd'>
  clock: () => number
}

/**
 * Ends every login that has a valid token in the request, closes its sockets, and revokes the provider's token.
 * Browsers send several cookies of one name if their domains or paths differ, and none of them may stay valid. If the
 * request names a user, only that user's logins end. Returns true if there were any logins.
 *
 * @throws ServiceError ForbiddenUser: all logins belong to other users
 */
export async function signOut(
  parts: SignOutParts,
  headers: TokenHeaders,
  namedUser: string | undefined,
  log: FastifyBaseLogger,
): Promise<boolean> {
  const { database, clock, notices } = parts
  const found = await findLoginsOf(database.db, headers, clock())
  if (found.length === 0) return false
  const logins = sortedById(found.filter((login) => actsFor(namedUser, login)))
  if (logins.length === 0) throw new ServiceError('ForbiddenUser')
  const owner = ownerOfLogins(logins[0] as LoginKey)
  const ended = await database.write(async (trx) => {
    const rows = []
    for (const login of logins) {
      if (rows.length > 0 && rows.length % endedAtOnce === 0) await eventLoopTurn()
      rows.push(await endLogin(trx, login))
    }
    return rows.filter((row) => row !== undefined)
  }, owner)
  for (const login of logins) notices.publishEnd(login)
  revokeTokens(parts, ended, log)
  return true
}

/** Ends one of the user's logins, on its own request or another login's. */
export async function endSession(
  parts: SignOutParts,
  { userId, loginId }: LoginKey,
  id: string,
  log: FastifyBaseLogger,
): Promise<void> {
  const ended = await parts.database.write(async (trx) => {
    const locked = await lockLogins(trx, userId, [loginId, id])
    if (!locked.has(loginId)) throw new ServiceError('InvalidSession')
    if (!locked.has(id)) throw new ServiceError('SessionNotFound')
    return endLogins(trx, userId, [id])
  }, ownerOfLogins({ userId }))
  announceEnds(parts, ended, log)
}

/** Ends all of the user's logins except this one. */
export async function endOtherSessions(
  parts: SignOutParts,
  { userId, loginId }: LoginKey,
  log: FastifyBaseLogger,
): Promise<void> {
  const ended = await parts.database.write(async (trx) => {
    const locked = await lockLogins(trx, userId)
    if (!locked.delete(loginId)) throw new ServiceError('InvalidSession')
    return endLogins(trx, userId, [...locked])
  }, ownerOfLogins({ userId }))
  announceEnds(parts, ended, log)
}

/** Closes the sockets and unfinished responses of ended logins on every instance, and revokes their provider tokens. */
export function announceEnds(
  parts: SignOutParts,
  ended: EndedLogin[],
  log: FastifyBaseLogger,
  formerIssuer?: string,
): void {
  for (const { user_id, id } of ended) parts.notices.publishEnd({ userId: user_id, loginId: id })
  revokeTokens(parts, ended, log, formerIssuer)
}

/**
 * Revokes the provider's tokens. Nothing waits for this, because the sign-out is complete even if it fails.
 *
 * @param formerIssuer the issuer of a deleted account, which is no longer stored
 */
async function revokeTokens(
  parts: SignOutParts,
  ended: EndedLogin[],
  log: FastifyBaseLogger,
  formerIssuer?: string,
): Promise<void> {
  for (const { id, user_id, provider_token_sealed } of ended) {
    if (provider_token_sealed === null) continue
    const token = parts.seal.open(provider_token_sealed, { purpose: 'provider-token', userId: user_id, rowId: id })
    if (token === null) continue
    const issuer = formerIssuer ?? (await findIssuer(parts.database.db, user_id).catch(() => undefined))
    // Another provider must not see the token.
    if (issuer === undefined || !isSameIssuer(parts.provider.issuer, issuer)) continue
    await parts.provider
      .revoke(Buffer.from(token).toString())
      .catch((err) => log.warn({ err }, 'the provider did not revoke its token'))
  }
}
