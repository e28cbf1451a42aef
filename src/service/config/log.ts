import { ConfigError, type Env, oneOf, optional } from './values.ts'

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
  const given = endpoints.filter((name) => optional(env, name) !== undefined)
  const exporter = oneOf(env, 'OTEL_TRACES_EXPORTER', ['otlp', 'none'], given.length === 0 ? 'none' : 'otlp')
  const isDisabled = optional(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  if (exporter === 'none' || isDisabled) return false
  for (const name of given) demandHttpUrl(env, name)
  return true
}

/** The exporter would send nowhere else, and take `collector:4318` for a URL of another scheme without a word. */
function demandHttpUrl(env: Env, name: string): void {
  const url = URL.parse(optional(env, name) ?? '')
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(`${name} must be a URL that begins with http:// or https://`)
  }
}
