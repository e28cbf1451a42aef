import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingHttpHeaders } from 'node:http'

export interface Tracing {
  /** Begins a request's step. Undefined if neither its caller nor the operator traces it. */
  begin(name: string, headers: IncomingHttpHeaders): Trace | undefined
  close(): Promise<void>
}

/** A step of what began at a caller, and goes on in the calls to other services that are made for it. */
export interface Trace {
  traceId: string
  /** What such a call passes on (W3C Trace Context). */
  headers: Readonly<Record<string, string>>
  /** Begins a step within this one. */
  begin(name: string): Trace
  end(hasFailed: boolean): void
}

const current = new AsyncLocalStorage<Trace>()

/** Calls that `work` makes belong to the trace, whatever they wait for. */
export function within<T>(trace: Trace | undefined, work: () => T): T {
  return trace ? current.run(trace, work) : work()
}

/** Begins a step for a call to another service. Undefined if nobody traces what it is made for. */
export function beginCall(name: string): Trace | undefined {
  return current.getStore()?.begin(name)
}
