import { type Response as AgentResponse, EnvHttpProxyAgent, fetch, type RequestInit } from 'undici'
import type { Proxies } from '../config/config.ts'

export interface ProviderAgent {
  fetch(url: string, request: RequestInit): Promise<AgentResponse>
  close(): Promise<void>
}

/** A connection pool for calls to the provider, with proxies from the configuration. */
export function createAgent(connectTimeout: number, { http, https, none }: Proxies): ProviderAgent {
  // If these texts were undefined, the agent would read the environment itself.
  const proxies = { httpProxy: http ?? '', httpsProxy: https ?? '', noProxy: none ?? '' }
  const dispatcher = new EnvHttpProxyAgent({ connectTimeout, ...proxies })
  return { fetch: (url, request) => fetch(url, { ...request, dispatcher }), close: () => dispatcher.close() }
}
