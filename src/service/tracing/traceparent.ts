import type { IncomingHttpHeaders } from 'node:http'

/** The step of a caller. */
export interface Caller {
  traceId: string
  spanId: string
  flags: number
  headers: { traceparent: string; tracestate?: string }
}

/** Later versions may append fields, and no id is all zeros (W3C Trace Context, section 3.2). */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const maxStateLength = 512

/** Undefined if there is none, or not a valid one. */
export function readCaller({ traceparent, tracestate }: IncomingHttpHeaders): Caller | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, version, traceId = '', spanId = '', flags = '', rest] = form.exec(traceparent) ?? []
  if (version === undefined || (version === '00' && rest !== undefined)) return undefined
  const isPassedOn = typeof tracestate === 'string' && tracestate.length <= maxStateLength
  return {
    traceId,
    spanId,
    flags: Number.parseInt(flags, 16),
    headers: { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(isPassedOn && { tracestate }) },
  }
}
