import type { Response as AgentResponse, RequestInit } from 'undici'
import type { Proxies } from '../config/config.ts'
import { beginCall } from '../tracing/trace.ts'
import type { ProviderAgent } from './agent.ts'
import { callMs, ProviderUnavailableError } from './provider.ts'

/** Less than a call may take, so that a slow connection fails by this limit: then the provider has received nothing. */
const connectTimeoutMs = 3_000
const maxBytes = 1_048_576

interface ProviderRequest {
  method: string
  headers: Record<string, string>
  body?: URLSearchParams | null | undefined
}

/** Sends requests to the provider. Each may take 5 s and return 1 MiB, unpacked. Only metadata may redirect. */
export function openProviderHttp(proxies: Proxies) {
  let agent: Promise<ProviderAgent> | undefined
  return {
    async fetch(url: string, options: ProviderRequest): Promise<Response> {
      agent ??= openAgent(proxies)
      return call(await agent, url, options)
    },
    async close(): Promise<void> {
      await (await agent)?.close()
    },
  }
}

/** Imports agent.ts on demand: its library, undici, takes half as long to load as the rest of the service. */
async function openAgent(proxies: Proxies): Promise<ProviderAgent> {
  return (await import('./agent.ts')).createAgent(connectTimeoutMs, proxies)
}

async function call(agent: ProviderAgent, url: string, { method, headers, body }: ProviderRequest): Promise<Response> {
  const { origin, pathname } = new URL(url)
  const fail = (fault: string, mayHaveActed: boolean, cause?: unknown) => {
    const message = `OpenID provider: ${method} ${origin}${pathname} ${fault}`
    return Object.assign(new ProviderUnavailableError(message, { cause }), { mayHaveActed })
  }
  const signal = AbortSignal.timeout(callMs)
  const trace = beginCall(`provider ${method}`)
  const sent = trace ? { ...headers, ...trace.headers } : headers
  const request = { method, headers: sent, body: body ?? null, redirect: 'manual', signal } as const
  let status: number | undefined
  try {
    const response = await send(agent, url, request)
    status = response.status
    if ((status >= 300 && status < 400) || status === 429 || status >= 500) {
      await response.body?.cancel()
      const target = targetOf(response, url)
      // Helps an operator to correct a wrong issuer.
      const towards = target ? `, a redirect to ${target.origin}${target.pathname}` : ''
      throw fail(`returned status ${status}${towards}`, false)
    }
    const bytes = await readBody(response.body ?? [])
    if (bytes === null) throw fail(`returned more than ${maxBytes} bytes`, status < 300)
    // Because of this header, oauth4webapi would ignore the body, which names the reason.
    const headers = [...response.headers].filter(([name]) => name !== 'www-authenticate')
    return new Response(bytes.length === 0 ? null : bytes, { status, headers })
  } catch (error) {
    if (error instanceof ProviderUnavailableError) throw error
    const mayHaveActed = status === undefined ? !wasNeverSent(error) : status < 300
    const fault = signal.aborted ? `did not complete its response within ${callMs} ms` : `failed${proxyFault(error)}`
    throw fail(fault, mayHaveActed, error)
  } finally {
    trace?.end(status === undefined || status >= 500)
  }
}

/** Follows one redirect between metadata URLs of one origin, such as the one that Nextcloud's guide sets up. */
async function send(agent: ProviderAgent, url: string, request: RequestInit): Promise<AgentResponse> {
  const response = await agent.fetch(url, request)
  const target = targetOf(response, url)
  if (!target || target.origin !== new URL(url).origin || ![url, target].every(isMetadata)) return response
  await response.body?.cancel()
  return agent.fetch(target.href, request)
}

function targetOf({ status, headers }: AgentResponse, url: string): URL | null {
  const location = status >= 300 && status < 400 ? headers.get('location') : null
  return location === null ? null : URL.parse(location, url)
}

function isMetadata(url: string | URL): boolean {
  return new URL(url).pathname.endsWith('/openid-configuration')
}

/** True if the request was never sent: no address, no connection, a bad certificate, or a proxy refused it. */
function wasNeverSent(error: unknown): boolean {
  const { code = '', syscall } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
  if (syscall === 'connect' || syscall === 'getaddrinfo' || proxyFault(error) !== '') return true
  return /^(ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_.*)$|CERT|UNABLE_TO_/.test(code)
}

/** Describes a forward proxy's refusal with its status; empty if it was not the proxy. */
function proxyFault(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const [, status] = /^Proxy response \((\d+)\)/.exec(cause.message) ?? []
    if (status !== undefined) return `: the proxy returned status ${status}`
    if ('code' in cause && cause.code === 'UND_ERR_PRX_CONN') return ': the proxy closed the connection'
  }
  return ''
}

async function readBody(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer<ArrayBuffer> | null> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > maxBytes) return null
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}
