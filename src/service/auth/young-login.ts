import type { FastifyRequest, preHandlerAsyncHookHandler } from 'fastify'
import { quotas } from '../../../generated/limits.ts'
import { operations } from '../../../generated/operations.ts'
import { ServiceError } from '../contract/errors.ts'
import type { OperationId, Schemas } from '../contract/schemas.ts'
import type { Database } from '../db/engine/database.ts'
import { countOldPurge, findAuthentication } from '../db/tables/logins.ts'
import type { Session } from '../db/tables/tokens.ts'
import { findExportKey } from '../db/tables/users.ts'
import { openExportKey } from '../seal/export-key.ts'
import type { Seal } from '../seal/seal.ts'

const youngMs = quotas.youngLoginSeconds * 1000

export interface YoungLoginParts {
  database: Pick<Database, 'db' | 'write'>
  seal: Seal
  clock: () => number
}

type Sometimes = {
  [Op in OperationId]: (typeof operations)[Op]['youngLogin'] extends 'sometimes' ? Op : never
}[OperationId]

type Condition = (parts: YoungLoginParts, session: Session, request: FastifyRequest) => boolean | Promise<boolean>

/** True if a call from an old login would do what cannot be undone. `because` in the contract says it in words. */
const conditions: Record<Sometimes, Condition> = {
  setKeyring: (_parts, _session, { body }) => (body as Schemas['Keyring']).revision > 1,

  async setExportKey({ database, seal }, { userId }, { body }) {
    const { sealed, isServices } = await findExportKey(database.db, userId)
    if (isServices) return false
    const { key } = body as Schemas['ExportKey']
    return Buffer.from(key, 'base64').compare(openExportKey(seal, userId, userId, sealed)) !== 0
  },

  // Counted before it is done, so that of many at once no more are let through.
  async purgeBookmark({ database, clock }, login) {
    return !(await database.write((trx) => countOldPurge(trx, login, clock(), quotas.purgesOfOldLogin), login.userId))
  },
}

/**
 * Whoever finds a device that is signed in, and a faulty program that runs on one, can do nothing there that cannot be
 * undone: it takes a login that is younger than 10 minutes. One that the provider gave without a question is as old as its
 * last one: else they would only have to sign in again. The contract says which operations do (`x-login`). Undefined for
 * the others.
 */
export function createYoungLoginCheck(parts: YoungLoginParts) {
  return (operationId: OperationId): preHandlerAsyncHookHandler | undefined => {
    if (operations[operationId].youngLogin === 'never') return undefined
    const condition: Condition = isConditional(operationId) ? conditions[operationId] : () => true
    return async (request) => {
      const { session } = request
      if (!session || (await isYoung(parts, session)) || !(await condition(parts, session, request))) return
      throw new ServiceError('SignInAgain')
    }
  }
}

function isConditional(operationId: OperationId): operationId is Sometimes {
  return operationId in conditions
}

/** @throws ServiceError InvalidSession: it was signed out since it was checked */
async function isYoung({ database, clock }: YoungLoginParts, login: Session): Promise<boolean> {
  const authenticatedAt = await findAuthentication(database.db, login)
  if (authenticatedAt === undefined) throw new ServiceError('InvalidSession')
  // One from an instance whose clock was ahead would be young for as long as that was.
  return Math.abs(clock() - authenticatedAt) < youngMs
}
