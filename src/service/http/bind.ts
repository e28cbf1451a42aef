import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { OpenAPIV3_1 } from 'openapi-types'
import openapi from '../../../generated/openapi.json' with { type: 'json' }
import { operations } from '../../../generated/operations.ts'
import routes from '../../../generated/routes.json' with { type: 'json' }
import { createRecentSignInCheck, type RecentSignInParts } from '../auth/recent-sign-in.ts'
import { createSecurity, type SessionParts } from '../auth/sessions.ts'
import type { OperationId } from '../contract/schemas.ts'
import { type Answer, onceAnswered } from '../db/engine/query.ts'
import type { Gate } from '../load/gate.ts'
import type { Limits } from '../load/rates.ts'
import type { Handler, HttpOperationId, OperationRequest, Operations } from '../operations/operation.ts'
import { within } from '../tracing/trace.ts'
import { type BodyParts, registerBodies, requireBody } from './body.ts'
import { bindRealtime, type RealtimeParts } from './realtime.ts'
import { ownerOf } from './requests.ts'
import { type Answered, createResponder, holdDownload, type ResponseKind, type ResponseParts } from './responses.ts'

type BindingParts = BodyParts &
  RealtimeParts &
  ResponseParts &
  SessionParts &
  RecentSignInParts & { gate: Pick<Gate, 'requests' | 'free' | 'freeOfLogin'>; limits: Pick<Limits, 'spend'> }

type Operation = OpenAPIV3_1.OperationObject<{ 'x-body-limit'?: number; 'x-not-found'?: string }>

/** Binds each operation of the contract to the handler of the same name. */
export function bindOperations<Parts extends BindingParts>(
  app: FastifyInstance,
  parts: Parts,
  handlers: Operations<HttpOperationId, Parts>,
): void {
  const { gate, limits } = parts
  const secure = createSecurity(parts)
  const requireRecentSignIn = createRecentSignInCheck(parts)
  const admitBody = registerBodies(app, parts)
  const respond = createResponder(parts)
  const holdPlace = holdDownload(parts)

  function route(operationId: OperationId) {
    if (operationId === 'openRealtime') return bindRealtime(parts, secure(operationId))
    const { method } = operations[operationId]
    const { requestBody, responses = {}, 'x-body-limit': bodyLimit, 'x-not-found': notFound } = contractOf(operationId)
    const kind = kindOf(operationId, responses)
    return {
      handler: handle(operationId, kind, '429' in responses),
      onRequest: [
        // Only getHealth has no 429: it has neither a session nor a limit.
        ...('429' in responses ? [secure(operationId)] : []),
        // A GET's body is never read.
        ...(method === 'GET' ? [] : [admitBody]),
      ],
      ...(requestBody && 'content' in requestBody && { preValidation: requireBody(requestBody.required) }),
      ...(bodyLimit && { bodyLimit }),
      ...(kind === 'download' && { preHandler: holdPlace }),
      // An operation without a 400 gets malformed parameters itself, unless it has a 404: a malformed id is not found.
      attachValidation: !('400' in responses || notFound),
    }
  }

  function handle(operationId: HttpOperationId, kind: ResponseKind, takesTurns: boolean) {
    const handler = handlers[operationId] as Handler<HttpOperationId, Parts>
    const isFree = operations[operationId].cost.request === 0
    const checkRecentSignIn = requireRecentSignIn(operationId)
    return (request: FastifyRequest, reply: FastifyReply): Answer<FastifyReply> => {
      const { trace, session } = request
      const more = costOfBody(operationId, request.body)
      if (session && more > 0) limits.spend(session.userId, more)
      const free = isFree && (session ?? request.leaving)
      const run = (): Answer<Answered> => {
        const sent = toOperationRequest(request)
        return trace ? within(trace, () => handler(sent, parts)) : handler(sent, parts)
      }
      const inTurn = <T>(work: () => T | Promise<T>) => {
        if (free) return gate.freeOfLogin.run(free.loginId, () => gate.free.run(free.userId, work))
        return takesTurns ? gate.requests.run(ownerOf(request), work) : work()
      }
      const answer = () =>
        respond(request, reply, kind, (next) => {
          if (kind === 'read' || free) return inTurn(() => onceAnswered(run(), next))
          // In an object, `inTurn` does not await a promise: a write must not keep its slot until its answer is ready.
          return onceAnswered(
            inTurn(() => ({ answer: run() })),
            ({ answer }) => onceAnswered(answer, next),
          )
        })
      const ready = onceAnswered(checkRecentSignIn?.(request), answer)
      if (ready instanceof Promise) request.work = ready
      return onceAnswered(ready, (send) => send())
    }
  }

  app.decorateRequest('session', undefined)
  app.decorateRequest('leaving', undefined)
  for (const { method, url, schema } of routes)
    app.route({ method, url, schema, ...route(schema.operationId as OperationId) } as RouteOptions)
}

function contractOf(operationId: OperationId): Operation {
  const { path, method } = operations[operationId]
  const paths = openapi.paths as unknown as Record<string, Record<string, Operation>>
  return paths[path]?.[method.toLowerCase()] as Operation
}

interface Cost {
  request: number
  per?: string
  every?: number
  unless?: string
  more?: number
}

/** How many requests a body counts as, besides the request itself: `x-cost` of the contract. */
function costOfBody(operationId: OperationId, body: unknown): number {
  const { per, every = 1, unless, more = 0 }: Cost = operations[operationId].cost
  const fields = (body ?? {}) as Record<string, unknown[] | number | undefined>
  const amount = per === undefined ? 0 : fields[per]
  const elements = Array.isArray(amount) ? amount.length : (amount ?? 0)
  return Math.floor(elements / every) + (unless !== undefined && fields[unless] === undefined ? more : 0)
}

/** A GET without a session counts as a write: a sign-in must not keep its slot while it waits for the provider. */
function kindOf(operationId: OperationId, responses: OpenAPIV3_1.ResponsesObject): ResponseKind {
  if (isDownload(responses)) return 'download'
  const { method, security } = operations[operationId]
  const reads = method === 'GET' || operationId === 'pullChanges'
  return reads && security !== 'none' ? 'read' : 'write'
}

function isDownload(responses: OpenAPIV3_1.ResponsesObject): boolean {
  const success = responses['200']
  return success !== undefined && 'content' in success && 'application/octet-stream' in (success.content ?? {})
}

function toOperationRequest(request: FastifyRequest): OperationRequest<HttpOperationId> {
  const { log, ip, session, params, query, headers, body, validationError } = request
  const { cookie, authorization, 'x-user-id': userId, 'user-agent': userAgent = '', 'x-device-id': deviceId } = headers
  const caller = session && { userId: session.userId, loginId: session.loginId, deviceId }
  const isMalformed = validationError !== undefined
  const sent = { cookie, authorization, userId, userAgent, params, query, headers, body, isMalformed }
  return { log, address: ip, session, caller, ...sent } as unknown as OperationRequest<HttpOperationId>
}
