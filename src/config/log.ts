import { type Env, oneOf, optional } from './values.ts'

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const addresses = ['none', 'network', 'full'] as const

/** What the log says, and whether traces are exported: with OpenTelemetry's own variables, which its exporter reads, too. */
export function logging(env: Env) {
  return {
    logLevel: oneOf(env, 'LOG_LEVEL', levels, 'info'),
    logAddresses: oneOf(env, 'LOG_ADDRESSES', addresses, 'network'),
    exportTraces: exportsTraces(env),
  }
}

function exportsTraces(env: Env): boolean {
  const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']
  const [endpoint] = endpoints.map((name) => optional(env, name)).filter((value) => value !== undefined)
  const exporter = oneOf(env, 'OTEL_TRACES_EXPORTER', ['otlp', 'none'], endpoint === undefined ? 'none' : 'otlp')
  const isDisabled = optional(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  return exporter === 'otlp' && !isDisabled
}
