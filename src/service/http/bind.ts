import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler, RouteOptions } from 'fastify'
import type { OpenAPIV3_1 } from 'openapi-types'
import openapi from '../../../generated/openapi.json' with { type: 'json' }
import { operations } from '../../../generated/operations.ts'
import routes from '../../../generated/routes.json' with { type: 'json' }
import { createSecurity, type SessionParts } from '../auth/sessions.ts'
import { createYoungLoginCheck, type YoungLoginParts } from '../auth/young-login.ts'
import type { OperationId } from '../contract/schemas.ts'
import { type Answer, onceAnswered } from '../db/engine/query.ts'
import { limitPerOwner } from '../load/turns.ts'
import type { Handler, HttpOperationId, OperationRequest, Operations } from '../operations/operation.ts'
import { measured, newWork, runAs } from '../thread/work.ts'
import { within } from '../tracing/trace.ts'
import { type BodyParts, demandBody, registerBodies } from './body.ts'
import { bindRealtime, type RealtimeParts } from './realtime.ts'
import { type Answered, createResponder, holdDownload, type ResponseParts } from './responses.ts'

type BindingParts = BodyParts & RealtimeParts & ResponseParts & SessionParts & YoungLoginParts

type Operation = OpenAPIV3_1.OperationObject<{ 'x-body-limit'?: number; 'x-not-found'?: string }>

/** A user's reads have turns, in each of which so many go on. What they write, the writer gives its turn. */
const readsAtOnce = 2

/** From here on, what is done for a user counts as theirs. */
const beginWork: onRequestHookHandler = (request, _reply, next) => {
  if (!request.session) return next()
  request.spent = newWork(request.session.userId)
  runAs(request.spent, next)
}

/** Binds each operation of the contract to the handler with its name. */
export function bindOperations<Parts extends BindingParts>(
  app: FastifyInstance,
  parts: Parts,
  handlers: Operations<HttpOperationId, Parts>,
): void {
  const secure = createSecurity(parts)
  const demandYoungLogin = createYoungLoginCheck(parts)
  const admitBody = registerBodies(app, parts)
  const inTurn = limitPerOwner(readsAtOnce)
  const respond = createResponder(parts, inTurn)
  const downloading = holdDownload(parts)

  function route(operationId: OperationId) {
    if (operationId === 'openRealtime') return bindRealtime(parts, secure(operationId))
    const { method } = operations[operationId]
    const { requestBody, responses = {}, 'x-body-limit': bodyLimit, 'x-not-found': notFound } = contractOf(operationId)
    // A download has a budget of its own, and may wait for the object store. A rewind reads everything, whatever it then writes;
    // of a pull only what has parts: those that find nothing are one short query, which Postgres gets for many of them at once.
    const reads = (method === 'GET' && !isDownload(responses)) || operationId === 'rewindBookmarks'
    return {
      handler: handle(handlers[operationId] as Handler<HttpOperationId, Parts>, reads),
      onRequest: [
        // An operation without a 429 has no limit or session to check: health reports are never refused.
        ...('429' in responses ? [secure(operationId)] : []),
        beginWork,
        // A GET's body is never read.
        ...(method === 'GET' ? [] : [admitBody(maxElementsOf(requestBody))]),
      ],
      ...(requestBody && 'content' in requestBody && { preValidation: demandBody(requestBody.required) }),
      ...(bodyLimit && { bodyLimit }),
      preHandler: [demandYoungLogin(operationId), isDownload(responses) && downloading].filter((hook) => !!hook),
      // An operation without a 400 handles malformed parameters itself, unless they can only be an id that cannot exist.
      attachValidation: !('400' in responses || notFound),
    }
  }
  function handle(handler: Handler<HttpOperationId, Parts>, reads: boolean) {
    return (request: FastifyRequest, reply: FastifyReply): Answer<FastifyReply> => {
      const { session, trace } = request
      const run = (): Answer<Answered> => handler(toOperationRequest(request), parts)
      const turn = <T>(work: () => Answer<T>) => (session ? inTurn(session.userId, work) : work())
      const answered = (answer: Answered) => {
        const work = () => measured(() => respond(answer, request, reply))
        return answer.parts && !reads ? turn(work) : work()
      }
      const work = () => onceAnswered(trace ? within(trace, run) : run(), answered)
      const ready = reads ? turn(work) : work()
      if (ready instanceof Promise) request.work = ready
      return onceAnswered(ready, (send) => send())
    }
  }

  app.decorateRequest('session', undefined)
  // Fastify completes the schemas that it is given.
  for (const { method, url, schema } of routes)
    app.route({ method, url, schema, ...route(schema.operationId as OperationId) } as RouteOptions)
}

function contractOf(operationId: OperationId): Operation {
  const { path, method } = operations[operationId]
  const paths = openapi.paths as unknown as Record<string, Record<string, Operation>>
  return paths[path]?.[method.toLowerCase()] as Operation
}

/** How many elements the arrays of a valid body have at most. */
function maxElementsOf(requestBody: Operation['requestBody']): number {
  if (!requestBody || !('content' in requestBody)) return 0
  const schema = requestBody.content['application/json']?.schema as OpenAPIV3_1.ReferenceObject | undefined
  const name = schema?.$ref.split('/').at(-1) as keyof typeof openapi.components.schemas
  const { properties = {} } = openapi.components.schemas[name] as OpenAPIV3_1.NonArraySchemaObject
  return Object.values(properties as Record<string, { maxItems?: number }>).reduce(
    (sum, { maxItems = 0 }) => sum + maxItems,
    0,
  )
}

function isDownload(responses: OpenAPIV3_1.ResponsesObject): boolean {
  const success = responses['200']
  return success !== undefined && 'content' in success && 'application/octet-stream' in (success.content ?? {})
}

function toOperationRequest(request: FastifyRequest): OperationRequest<HttpOperationId> {
  const { log, ip, session, params, query, headers, body, validationError } = request
  const { cookie, authorization, 'user-agent': userAgent = '', 'x-device-id': deviceId } = headers
  const caller = session && { userId: session.userId, loginId: session.loginId, deviceId }
  const isMalformed = validationError !== undefined
  const sent = { cookie, authorization, userAgent, params, query, headers, body, isMalformed }
  return { log, address: ip, session, caller, ...sent } as unknown as OperationRequest<HttpOperationId>
}
