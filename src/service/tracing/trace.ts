import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingHttpHeaders } from 'node:http'

export interface Tracing {
  /** If not, only requests with a `traceparent` may have a trace. */
  readonly isExporting: boolean
  /** Begins a request's step. Undefined if neither its caller nor the operator traces it. */
  begin(name: string, headers: IncomingHttpHeaders): Trace | undefined
  close(): Promise<void>
}

/** A step of what began at a caller, and goes on in the calls to other services that are made for it. */
export interface Trace {
  traceId: string
  /** Such a call passes them on (W3C Trace Context). */
  headers: Readonly<Record<string, string>>
  /** Begins a step within this one. */
  begin(name: string): Trace
  end(hasFailed: boolean): void
}

const current = new AsyncLocalStorage<Trace>()

/** Calls that `work` makes belong to the trace, whatever they wait for. */
export function within<T>(trace: Trace, work: () => T): T {
  return current.run(trace, work)
}

/** Begins a step for a call to another service. Undefined if nobody traces the work that makes the call. */
export function beginCall(name: string): Trace | undefined {
  return current.getStore()?.begin(name)
}

/** The step of a caller. */
export interface CallerStep {
  traceId: string
  spanId: string
  flags: number
  headers: { traceparent: string; tracestate?: string }
}

/** Later versions may append fields, and no id is all zeros (W3C Trace Context, section 3.2). */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const maxStateLength = 512

/** Undefined if there is none, or not a valid one. */
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
