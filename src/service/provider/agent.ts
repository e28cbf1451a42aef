import { Agent, type Response as AgentResponse, fetch, type RequestInit } from 'undici'

export interface ProviderAgent {
  fetch(url: string, request: RequestInit): Promise<AgentResponse>
  close(): Promise<void>
}

/** Connections of their own, apart from whatever else this process calls. */
export function createAgent(connectTimeoutMs: number): ProviderAgent {
  const dispatcher = new Agent({ connect: { timeout: connectTimeoutMs } })
  return { fetch: (url, request) => fetch(url, { ...request, dispatcher }), close: () => dispatcher.close() }
}
