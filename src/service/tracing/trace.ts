import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingHttpHeaders } from 'node:http'

export interface Tracing {
  /** If false, only requests with a `traceparent` have a trace. */
  readonly isExporting: boolean
  /** Starts a request's step. Undefined if neither its caller nor the operator traces it. */
  begin(name: string, headers: IncomingHttpHeaders): Trace | undefined
  close(): Promise<void>
}

/** A step (span) of a trace, which the caller may have begun. The trace continues in calls to other services. */
export interface Trace {
  traceId: string
  /** Headers that pass the trace on (W3C Trace Context). */
  headers: Readonly<Record<string, string>>
  /** Starts a step within this one. */
  begin(name: string): Trace
  end(hasFailed: boolean): void
}

const current = new AsyncLocalStorage<Trace>()

/** Runs `work`. Its calls belong to the trace, including asynchronous ones. */
export function within<T>(trace: Trace, work: () => T): T {
  return current.run(trace, work)
}

/** Starts a step for a call to another service. Undefined if the current work is not traced. */
export function beginCall(name: string): Trace | undefined {
  return current.getStore()?.begin(name)
}

/** The caller's step. */
export interface CallerStep {
  traceId: string
  spanId: string
  flags: number
  headers: { traceparent: string; tracestate?: string }
}

/** Later versions may append fields. No id is all zeros (W3C Trace Context, section 3.2). */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const maxStateLength = 512

/** Undefined if the header is missing or invalid. */
export function readCaller({ traceparent, tracestate }: IncomingHttpHeaders): CallerStep | undefined {
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
