import { type Response as AgentResponse, EnvHttpProxyAgent, fetch, type RequestInit } from 'undici'
import type { Proxies } from '../config/config.ts'

export interface ProviderAgent {
  fetch(url: string, request: RequestInit): Promise<AgentResponse>
  close(): Promise<void>
}

/** Connections of their own, apart from whatever else this process calls. */
export function createAgent(connectTimeout: number, { http, https, none }: Proxies): ProviderAgent {
  // If a text is empty, the agent does not look into the environment by itself.
  const proxies = { httpProxy: http ?? '', httpsProxy: https ?? '', noProxy: none ?? '' }
  const dispatcher = new EnvHttpProxyAgent({ connectTimeout, ...proxies })
  return { fetch: (url, request) => fetch(url, { ...request, dispatcher }), close: () => dispatcher.close() }
}
