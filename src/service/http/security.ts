import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { operations } from '../../../generated/operations.ts'
import { cookieValues } from '../auth/cookies.ts'
import { findSessionOf } from '../auth/tokens.ts'
import type { SessionUses } from '../auth/uses.ts'
import { ServiceError } from '../contract/errors.ts'
import type { OperationId } from '../contract/schemas.ts'
import type { Database } from '../db/engine/database.ts'
import { onceAnswered } from '../db/engine/query.ts'
import type { Session } from '../db/tables/tokens.ts'
import type { Limits } from '../load/rates.ts'

declare module 'fastify' {
  interface FastifyRequest {
    session: Session | undefined
  }
}

export interface SecurityParts {
  database: Pick<Database, 'db'>
  limits: Pick<Limits, 'countWrongCookie' | 'countUser'>
  uses: Pick<SessionUses, 'note'>
  clock: () => number
}

type Scheme = (typeof operations)[OperationId]['security']

/** What each of the contract's security schemes reads, and its 401: for no cookie, and for a wrong one. */
const schemes = {
  sessionCookie: { kind: 'session', missing: 'AuthenticationRequired', wrong: 'InvalidSession' },
  refreshCookie: { kind: 'refresh', missing: 'NoRefreshToken', wrong: 'RefreshFailed' },
  optional: { kind: 'session', missing: undefined, wrong: undefined },
} as const

/**
 * Checks the operation's session, then the user's limit. A valid session passes whatever else its address does, and a
 * request without a cookie counts for nothing: any web page can make its visitors' browsers send those. Only wrong
 * cookies count for an address; beyond its limit they get 429. Each costs one query by primary key.
 */
export function createSecurity(parts: SecurityParts) {
  const { limits } = parts
  return (operationId: OperationId): onRequestHookHandler => {
    const scheme: Scheme = operations[operationId].security
    if (scheme === 'none') return (_request, _reply, next) => next()
    const check = schemes[scheme]
    if (!check) throw new Error(`${operationId}: the security scheme ${scheme} has no check`)
    const { kind, missing, wrong } = check

    function admit(request: FastifyRequest, session: Session | undefined, isTokenSent: boolean): void {
      request.session = session
      if (session) {
        parts.uses.note(session)
        limits.countUser(session.userId)
        return
      }
      if (isTokenSent) limits.countWrongCookie(request.ip)
      const error = isTokenSent ? wrong : missing
      if (error) throw new ServiceError(error)
    }

    return (request, _reply, next) => {
      const tokens = cookieValues(request.headers.cookie, `service_${kind}`).filter((value) => value !== '')
      const found = findSessionOf(parts.database.db, kind, tokens, parts.clock())
      const admitted = onceAnswered(found, (session) => admit(request, session, tokens.length > 0))
      if (admitted instanceof Promise) admitted.then(() => next(), next)
      else next()
    }
  }
}
