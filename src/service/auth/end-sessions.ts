import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import { type EndedLogin, endLogins, type LoginKey, lockLogins } from '../db/tables/logins.ts'
import { revokeTokens, type SignOutParts } from './sign-out.ts'

/** Ends a login of the user, as a sign-out there would, on behalf of another one or of itself. */
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
  }, userId)
  announceEnds(parts, ended, log)
}

/** Ends all logins of the user but this one. */
export async function endOtherSessions(
  parts: SignOutParts,
  { userId, loginId }: LoginKey,
  log: FastifyBaseLogger,
): Promise<void> {
  const ended = await parts.database.write(async (trx) => {
    const locked = await lockLogins(trx, userId)
    if (!locked.delete(loginId)) throw new ServiceError('InvalidSession')
    return endLogins(trx, userId, [...locked.keys()])
  }, userId)
  announceEnds(parts, ended, log)
}

/** Closes their sockets and cuts off their downloads, on every instance. */
export function announceEnds(parts: SignOutParts, ended: EndedLogin[], log: FastifyBaseLogger): void {
  for (const { user_id, id } of ended) parts.notices.publishEnd({ userId: user_id, loginId: id })
  revokeTokens(parts, ended, log)
}
