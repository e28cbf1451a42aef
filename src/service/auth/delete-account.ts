import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import { beginDeletion } from '../db/tables/deletions.ts'
import { findIssuer } from '../db/tables/identities.ts'
import { type LoginKey, ownerOfLogins } from '../db/tables/logins.ts'
import { announceEnds, type SignOutParts } from './sign-out.ts'

/** Detaches the account from its person, and ends all its logins. upkeep/erasure.ts erases the stored data. */
export async function deleteAccount(
  parts: SignOutParts,
  { userId, loginId }: LoginKey,
  log: FastifyBaseLogger,
): Promise<void> {
  const now = parts.clock()
  const { issuer, ended } = await parts.database.write(async (trx) => {
    // Read first, because the deletion erases it: it decides which provider may get the logins' tokens.
    const issuer = await findIssuer(trx, userId)
    const ended = await beginDeletion(trx, userId, now, (logins) => {
      if (!logins.has(loginId)) throw new ServiceError('InvalidSession')
    })
    return { issuer, ended }
  }, ownerOfLogins({ userId }))
  announceEnds(parts, ended, log, issuer)
}
