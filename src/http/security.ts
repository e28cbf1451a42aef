import type { FastifyRequest } from 'fastify'
import { operations } from '../../generated/operations.ts'
import { cookieValues } from '../auth/cookies.ts'
import { findSessionOf } from '../auth/tokens.ts'
import { ServiceError } from '../contract/errors.ts'
import type { OperationId } from '../contract/schemas.ts'
import type { Database } from '../db/database.ts'
import type { Session } from '../db/logins.ts'
import type { Limits } from './limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    session: Session | undefined
  }
}

export interface SecurityParts {
  database: Pick<Database, 'db'>
  limits: Pick<Limits, 'checkAddress' | 'countFailure' | 'countUser'>
  clock: () => number
}

type Scheme = (typeof operations)[OperationId]['security']
type Check = (request: FastifyRequest) => Promise<Session | undefined>

/** A check for each of the contract's security schemes, which throws the contract's 401. */
function createChecks({ database, clock, limits }: SecurityParts): Record<Scheme, Check> {
  const find = (request: FastifyRequest, kind: 'session' | 'refresh') =>
    findSessionOf(database.db, kind, cookieValues(request.headers.cookie, `service_${kind}`), clock())
  const isPresent = (request: FastifyRequest, kind: 'session' | 'refresh') =>
    cookieValues(request.headers.cookie, `service_${kind}`).some((value) => value !== '')
  return {
    none: async () => undefined,
    async sessionCookie(request) {
      const session = await find(request, 'session')
      if (!session) throw new ServiceError(isPresent(request, 'session') ? 'InvalidSession' : 'AuthenticationRequired')
      return session
    },
    async refreshCookie(request) {
      const session = await find(request, 'refresh')
      if (!session) throw new ServiceError(isPresent(request, 'refresh') ? 'RefreshFailed' : 'NoRefreshToken')
      return session
    },
    async optional(request) {
      const session = await find(request, 'session')
      if (!session && isPresent(request, 'session')) await limits.countFailure(request.ip)
      return session
    },
  }
}

/** Checks the address's limit (before any look-up), then the operation's session, then the user's limit. */
export function createSecurity(parts: SecurityParts) {
  const { limits } = parts
  const checks = createChecks(parts)
  return (operationId: OperationId) => {
    const { security } = operations[operationId]
    const check = checks[security]
    if (!check) throw new Error(`${operationId}: the security scheme ${security} has no check`)
    return async (request: FastifyRequest): Promise<void> => {
      await limits.checkAddress(request.ip)
      try {
        request.session = await check(request)
      } catch (error) {
        if (error instanceof ServiceError && error.statusCode === 401) await limits.countFailure(request.ip)
        throw error
      }
      if (request.session) await limits.countUser(request.session.userId)
    }
  }
}
