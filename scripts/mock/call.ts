import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { operations } from '../../generated/operations.ts'

export interface Call {
  method: string
  url: string
  headers: IncomingHttpHeaders
  payload: Buffer
}

export interface Answer {
  status: number
  headers: OutgoingHttpHeaders
  body: Buffer | string
}

/** The real service. */
export type Forward = (call: Call) => Promise<Answer>

export function isCallOf(operationId: keyof typeof operations, { method, url }: Call): boolean {
  const { path, method: wanted } = operations[operationId]
  const pattern = new RegExp(`^${path.replace('{id}', '[^/?]+')}(\\?|$)`)
  return (method === 'HEAD' ? 'GET' : method) === wanted && pattern.test(url)
}

/** Replaces an answer, but keeps its request id and its CORS headers. */
export function replaced(answer: Answer, status: number, body: object, headers: OutgoingHttpHeaders = {}): Answer {
  const type = { 'content-type': 'application/json; charset=utf-8' }
  const { 'content-length': _, 'content-disposition': __, ...kept } = answer.headers
  return { status, headers: { ...kept, ...type, ...headers }, body: JSON.stringify(body) }
}

/** The fields of the body, none if there is no body; undefined if it is malformed. */
export function fieldsOf({ payload }: Call): Record<string, unknown> | undefined {
  if (payload.length === 0) return {}
  try {
    const body: unknown = JSON.parse(payload.toString())
    return isObject(body) ? body : undefined
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same call with another body. */
export function withBody(call: Call, body: object): Call {
  const payload = Buffer.from(JSON.stringify(body))
  const headers = { ...call.headers, 'content-type': 'application/json', 'content-length': `${payload.length}` }
  return { ...call, headers, payload }
}
