import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { operations as contract } from '../../../generated/openapi.ts'
import type { OperationId, operations } from '../../../generated/operations.ts'
import type { Cookie } from '../auth/cookies.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Answer as DatabaseAnswer } from '../db/engine/query.ts'
import type { Session } from '../db/tables/tokens.ts'
import type { Caller } from '../sync/change.ts'

/** The body of each answer that says only that it is done. */
export const done: Schemas['Done'] = { success: true, name: 'encrypted-bookmark-sync' }

/** The session that the operation's security scheme requires, looked up before the handler is called. */
type SessionOf<Op extends OperationId> = {
  sessionCookie: Session
  refreshCookie: Session
  optional: Session | undefined
  none: undefined
}[(typeof operations)[Op]['security']]

type JsonBody<T> = T extends { requestBody?: infer Body }
  ? NonNullable<Body> extends { content: { 'application/json': infer Json } }
    ? Json
    : undefined
  : undefined

/** A request as the contract describes it: validated, and with defaults filled in. */
export interface OperationRequest<Op extends OperationId> {
  log: FastifyBaseLogger
  /** The caller's IP address. */
  address: string
  session: SessionOf<Op>
  /** The signed-in user's device, of an operation that always knows it. */
  caller: contract[Op]['parameters']['header'] extends { 'x-device-id': string } ? Caller : undefined
  /** The Cookie header. */
  cookie: string | undefined
  /** The Authorization header. */
  authorization: string | undefined
  /** The X-User-ID header. */
  userId: string | undefined
  /** The User-Agent header; empty if there is none. */
  userAgent: string
  params: Exclude<contract[Op]['parameters']['path'], undefined>
  query: Exclude<contract[Op]['parameters']['query'], undefined>
  headers: Exclude<contract[Op]['parameters']['header'], undefined>
  body: JsonBody<contract[Op]>
  /** A parameter violates the contract; only an operation without a 400 is called anyway. */
  isMalformed: boolean
}

/**
 * A large body, read and sent in parts. Each of them has the body's form and a part of its array; everything else is
 * taken from the one that is returned.
 */
export type InParts<Json> = AsyncGenerator<Json, Json>

type AnswerBody<Response> = Response extends { content: { 'application/json': infer Json } }
  ? ({ body: Json } | { parts: InParts<Json> }) & { finish?(): DatabaseAnswer<void> }
  : Response extends { content: { 'application/octet-stream': unknown } }
    ? { body: Readable }
    : { body?: undefined }

/** An operation may return one of the contract's statuses, with the body of that status. */
type Answer<Op extends OperationId> = {
  [Status in keyof contract[Op]['responses']]: {
    status: Status
    headers?: Record<string, string>
    cookies?: Cookie[]
  } & AnswerBody<contract[Op]['responses'][Status]>
}[keyof contract[Op]['responses']]

/** `parts` are the parts of the service that the handler's file needs. */
export type Handler<Op extends OperationId, Parts> = (
  request: OperationRequest<Op>,
  parts: Parts,
) => Answer<Op> | Promise<Answer<Op>>

/** openRealtime is bound to a socket instead (realtime/socket.ts). */
export type HttpOperationId = Exclude<OperationId, 'openRealtime'>

/** Handlers by operationId: one that is missing, or returns what is not in the contract, does not compile. */
export type Operations<Ids extends HttpOperationId, Parts> = { [Op in Ids]: Handler<Op, Parts> }
