import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { operations } from '../../generated/operations.ts'

export interface MockCall {
  method: string
  url: string
  headers: IncomingHttpHeaders
  payload: Buffer
}

export interface MockAnswer {
  status: number
  headers: OutgoingHttpHeaders
  body: Buffer | string
}

/** Sends the call to the real service. */
export type Forward = (call: MockCall) => Promise<MockAnswer>

export function isCallOf(operationId: keyof typeof operations, { method, url }: MockCall): boolean {
  const { path, method: wanted } = operations[operationId]
  const pattern = new RegExp(`^${path.replace('{id}', '[^/?]+')}(\\?|$)`)
  return (method === 'HEAD' ? 'GET' : method) === wanted && pattern.test(url)
}

/** Replaces a response's content, but keeps its other headers, such as the request id and those of CORS. */
export function replaced(
  answer: MockAnswer,
  status: number,
  body: object,
  headers: OutgoingHttpHeaders = {},
): MockAnswer {
  const type = { 'content-type': 'application/json; charset=utf-8' }
  const { 'content-length': _, 'content-disposition': __, ...kept } = answer.headers
  return { status, headers: { ...kept, ...type, ...headers }, body: JSON.stringify(body) }
}

/** The fields of the JSON body. There are none if the body is empty; undefined if it is not a JSON object. */
export function fieldsOf({ payload }: MockCall): Record<string, unknown> | undefined {
  if (payload.length === 0) return {}
  try {
    const body: unknown = JSON.parse(payload.toString())
    return isRecord(body) ? body : undefined
  } catch {
    return undefined
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same call with another body. */
export function withBody(call: MockCall, body: object): MockCall {
  const payload = Buffer.from(JSON.stringify(body))
  const headers = { ...call.headers, 'content-type': 'application/json', 'content-length': `${payload.length}` }
  return { ...call, headers, payload }
}
