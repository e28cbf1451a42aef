import { Agent, type Dispatcher, fetch as undiciFetch } from 'undici'
import { ProviderUnavailableError } from './errors.ts'

const TIMEOUT_MS = 5_000
const MAX_BYTES = 1_048_576

export interface ProviderHttp {
  fetch(url: string, options: ProviderRequest): Promise<Response>
  close(): Promise<void>
}

interface ProviderRequest {
  method: string
  headers: Record<string, string>
  body?: URLSearchParams | null | undefined
}

/** The only way to the provider: at most 5 s and 1 MiB per call, including the unpacked body; follows no redirects. */
export function openProviderHttp(): ProviderHttp {
  const agent = new Agent({ connect: { timeout: TIMEOUT_MS } })
  return {
    fetch: (url, options) => call(agent, url, options),
    close: () => agent.close(),
  }
}

async function call(
  dispatcher: Dispatcher,
  url: string,
  { method, headers, body }: ProviderRequest,
): Promise<Response> {
  const fail = (fault: string, cause?: unknown) => {
    const { origin, pathname } = new URL(url)
    return new ProviderUnavailableError(`OpenID provider: ${method} ${origin}${pathname} ${fault}`, { cause })
  }
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const request = { method, headers, body: body ?? null, redirect: 'manual', signal, dispatcher } as const
  try {
    const response = await undiciFetch(url, request)
    const { status } = response
    const bytes = await readBody(response.body ?? [])
    if (bytes === null) throw fail(`returned more than ${MAX_BYTES} bytes`)
    if ((status >= 300 && status < 400) || status === 429 || status >= 500) throw fail(`returned status ${status}`)
    return new Response(bytes.length === 0 ? null : bytes, { status, headers: [...response.headers] })
  } catch (error) {
    if (error instanceof ProviderUnavailableError) throw error
    throw fail(signal.aborted ? `did not complete its response within ${TIMEOUT_MS} ms` : 'failed', error)
  }
}

async function readBody(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer<ArrayBuffer> | null> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > MAX_BYTES) return null
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}
