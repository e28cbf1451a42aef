import { Agent, fetch, type RequestInit, type Response } from 'undici'

/** Shorter than a call may take, so that a provider that cannot be connected to is known not to have received anything. */
const connectTimeoutMs = 3_000

export interface ProviderAgent {
  fetch(url: string, request: RequestInit): Promise<Response>
  close(): Promise<void>
}

/** Connections of their own, apart from whatever else this process calls. */
export function openAgent(): ProviderAgent {
  const dispatcher = new Agent({ connect: { timeout: connectTimeoutMs } })
  return {
    fetch: (url, request) => fetch(url, { ...request, dispatcher }),
    close: () => dispatcher.close(),
  }
}
