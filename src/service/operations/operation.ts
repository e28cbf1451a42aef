import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { operations as contract } from '../../../generated/openapi.ts'
import type { OperationId, operations } from '../../../generated/operations.ts'
import type { Cookie } from '../auth/cookies.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Answer as DatabaseAnswer } from '../db/engine/query.ts'
import type { Session } from '../db/tables/tokens.ts'
import type { Caller } from '../sync/change.ts'

/** The body of responses that only confirm success. */
export const done: Schemas['Done'] = { success: true, name: 'encrypted-bookmark-sync' }

/** The session that the operation's security scheme requires, looked up before the handler runs. */
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

/** A request as in the contract: validated, with defaults filled in. */
export interface OperationRequest<Op extends OperationId> {
  log: FastifyBaseLogger
  /** The caller's IP address. */
  address: string
  session: SessionOf<Op>
  /** The signed-in user's device, for operations that always know it. */
  caller: contract[Op]['parameters']['header'] extends { 'x-device-id': string } ? Caller : undefined
  cookie: string | undefined
  authorization: string | undefined
  /** The X-User-ID header. */
  userId: string | undefined
  /** The User-Agent header; empty if there is none. */
  userAgent: string
  params: Exclude<contract[Op]['parameters']['path'], undefined>
  query: Exclude<contract[Op]['parameters']['query'], undefined>
  headers: Exclude<contract[Op]['parameters']['header'], undefined>
  body: JsonBody<contract[Op]>
  /** True if a parameter violates the contract. Only operations that have no error for that are then called. */
  isMalformed: boolean
}

/** A large body in parts, each with some elements of its array. Its other fields come from the returned part. */
export type InParts<Json> = AsyncGenerator<Json, Json>

type AnswerBody<Response> = Response extends { content: { 'application/json': infer Json } }
  ? ({ body: Json } | { parts: InParts<Json> }) & { finish?(): DatabaseAnswer<void> }
  : Response extends { content: { 'application/octet-stream': unknown } }
    ? { body: Readable }
    : { body?: undefined }

/** One of the operation's statuses with its body. */
type Answer<Op extends OperationId> = {
  [Status in keyof contract[Op]['responses']]: {
    status: Status
    headers?: Record<string, string>
    cookies?: Cookie[]
  } & AnswerBody<contract[Op]['responses'][Status]>
}[keyof contract[Op]['responses']]

/** `parts` are the parts of the service that the handler needs. */
export type Handler<Op extends OperationId, Parts> = (
  request: OperationRequest<Op>,
  parts: Parts,
) => Answer<Op> | Promise<Answer<Op>>

/** openRealtime has no handler here: it is bound to a socket (realtime/socket.ts). */
export type HttpOperationId = Exclude<OperationId, 'openRealtime'>

/** Handlers by operation id. A missing handler, or an answer outside the contract, does not compile. */
export type Operations<Ids extends HttpOperationId, Parts> = { [Op in Ids]: Handler<Op, Parts> }
