import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import { beginDeletion } from '../db/tables/deletions.ts'
import { type LoginKey, ownerOfLogins } from '../db/tables/logins.ts'
import { announceEnds, type SignOutParts } from './sign-out.ts'

/** Detaches the account from its person, and ends all its logins. upkeep/erasure.ts erases the stored data. */
export async function deleteAccount(
  parts: SignOutParts,
  { userId, loginId }: LoginKey,
  log: FastifyBaseLogger,
): Promise<void> {
  const now = parts.clock()
  const ended = await parts.database.write(
    (trx) =>
      beginDeletion(trx, userId, now, (logins) => {
        if (!logins.has(loginId)) throw new ServiceError('InvalidSession')
      }),
    ownerOfLogins({ userId }),
  )
  announceEnds(parts, ended, log)
}
