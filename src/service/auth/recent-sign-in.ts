import type { FastifyRequest } from 'fastify'
import { quotas } from '../../../generated/limits.ts'
import { operations } from '../../../generated/operations.ts'
import { ServiceError } from '../contract/errors.ts'
import type { OperationId, Schemas } from '../contract/schemas.ts'
import type { Database } from '../db/engine/database.ts'
import { findAuthentication } from '../db/tables/logins.ts'
import type { Session } from '../db/tables/tokens.ts'
import { countOldPurge, findExportKey } from '../db/tables/users.ts'
import { openExportKey } from '../seal/export-key.ts'
import type { Seal } from '../seal/seal.ts'

const recentMs = quotas.recentSignInSeconds * 1000

export interface RecentSignInParts {
  database: Pick<Database, 'db' | 'write'>
  seal: Seal
  clock: () => number
}

type Sometimes = {
  [Op in OperationId]: (typeof operations)[Op]['recentSignIn'] extends 'sometimes' ? Op : never
}[OperationId]

type Condition = (parts: RecentSignInParts, session: Session, request: FastifyRequest) => boolean | Promise<boolean>

/** For operations that need a recent sign-in only under a condition of the contract: true if the call meets it. */
const conditions: Record<Sometimes, Condition> = {
  setKeyring: (_parts, _session, { body }) => (body as Schemas['Keyring']).revision > 1,

  async setExportKey({ database, seal }, { userId }, { body }) {
    const { sealed, isGenerated } = await findExportKey(database.db, userId)
    // Nobody has a key that does not open. It counts as never set.
    const stored = isGenerated ? null : openExportKey(seal, userId, userId, sealed)
    const { key } = body as Schemas['ExportKey']
    return stored !== null && Buffer.from(key, 'base64').compare(stored) !== 0
  },

  // A few a day need no recent sign-in. Counted before erasing, so that simultaneous calls cannot exceed the limit.
  async purgeBookmark({ database, clock }, { userId }) {
    return !(await database.write((trx) => countOldPurge(trx, userId, clock(), quotas.purgesOfOldSignIn), userId))
  },
}

/**
 * Requires a sign-in of the last 10 minutes for operations that cannot be undone: somebody who finds a signed-in
 * device, or a faulty program on it, must not be able to use them. The time that counts is when the provider last
 * asked the person for credentials, if it reports that, because signing in again may need none. The contract marks
 * these operations (`x-recent-sign-in`). For the others, there is no check.
 */
export function createRecentSignInCheck(parts: RecentSignInParts) {
  return (operationId: OperationId): ((request: FastifyRequest) => Promise<void>) | undefined => {
    if (operations[operationId].recentSignIn === 'never') return undefined
    const condition: Condition = isConditional(operationId) ? conditions[operationId] : () => true
    return async (request) => {
      const { session } = request
      if (!session || (await isRecent(parts, session)) || !(await condition(parts, session, request))) return
      throw new ServiceError('SignInAgain')
    }
  }
}

function isConditional(operationId: OperationId): operationId is Sometimes {
  return operationId in conditions
}

/** @throws ServiceError InvalidSession: the session was signed out after it was checked */
async function isRecent({ database, clock }: RecentSignInParts, login: Session): Promise<boolean> {
  const authenticatedAt = await findAuthentication(database.db, login)
  if (authenticatedAt === undefined) throw new ServiceError('InvalidSession')
  return recentMsLeft(authenticatedAt, clock()) > 0
}

/** How long a sign-in stays recent (ms); 0 if it is not. */
export function recentMsLeft(authenticatedAt: number, now: number): number {
  // A sign-in at an instance whose clock was ahead would otherwise stay recent until this clock catches up.
  return Math.max(0, recentMs - Math.abs(now - authenticatedAt))
}
