import { systemClock } from '../timing/clock.ts'
import { retryAfterMs } from './ours.ts'

/** A `fetch` function that takes a Request. */
export type SendRequest = (request: Request) => Promise<Response>

const mostRetries = 3
const jitterMs = 250
/** The longest wait of a call in all: a minute, in which a used-up rate limit refills, plus the jitter. */
const mostWaitMs = 60_000 + jitterMs

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

/** How many ms to wait; undefined not to retry. The jitter spreads devices that were refused at the same moment. */
function waitOf(response: Response): number | undefined {
  const { status } = response
  const waitMs = status === 429 || status === 503 ? retryAfterMs(response) : undefined
  return waitMs === undefined ? undefined : waitMs + Math.random() * jitterMs
}
