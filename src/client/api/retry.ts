import { systemClock } from '../timing/clock.ts'

/** A `fetch` function that takes a Request. */
export type SendRequest = (request: Request) => Promise<Response>

const mostRetries = 3
const mostWaitMs = 60_000

/** After a 429 or 503, waits as long as the service asks for (RFC 9110, section 10.2.3), then sends the request again. */
export function withRetries(send: SendRequest): SendRequest {
  return async (request) => {
    let waitedMs = 0
    for (let retries = 0; ; retries++) {
      const response = await send(request.clone())
      const waitMs = waitOf(response)
      if (waitMs === undefined || retries === mostRetries || waitedMs + waitMs > mostWaitMs) return response
      await response.body?.cancel()
      await systemClock.sleep(waitMs, request.signal)
      waitedMs += waitMs
    }
  }
}

/** The service always sends seconds, never a date. The jitter keeps devices refused together from returning together. */
function waitOf({ status, headers }: Response): number | undefined {
  const seconds = headers.get('retry-after')
  if ((status !== 429 && status !== 503) || seconds === null || !/^\d+$/.test(seconds)) return undefined
  return Number(seconds) * 1000 + Math.random() * 250
}
