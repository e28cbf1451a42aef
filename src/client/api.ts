import createOpenApiClient, { type Client as OpenApiClient } from 'openapi-fetch'
import type { paths } from '../../generated/client.ts'
import { withDevice } from './api/device.ts'
import { withRefresh } from './api/refresh.ts'
import { withRetries } from './api/retry.ts'

export interface ClientOptions {
  /** Where the service is, such as `https://sync.example.org`; its PUBLIC_URL. */
  baseUrl: string
  /** This device, 1 to 128 printable ASCII characters; stays the same for as long as the device keeps its store. */
  deviceId: string
  /** Stands in for the platform's `fetch`: in Node, one that keeps cookies. */
  fetch?: SendRequest
}

/** `fetch`, of a Request. */
export type SendRequest = (request: Request) => Promise<Response>

/** openapi-fetch's client of the contract: `client.GET('/api/v1/bookmarks', { params: { query: { page: 2 } } })`. */
export interface Client extends OpenApiClient<paths> {
  readonly baseUrl: string
}

/**
 * A client of the service: every path, parameter, body and status is typed by the contract, and a call resolves to
 * `{ data, error, response }` as openapi-fetch's do (https://openapi-ts.dev/openapi-fetch), so that its companions, such
 * as openapi-react-query, work on it. `unwrap` gives the data, or throws the contract's text.
 *
 * Beyond openapi-fetch, each call
 * - sends the cookies, also to another origin (`credentials: 'include'`), and `X-Device-ID` where the contract takes it;
 * - is repeated once after a 401, when the session could be refreshed: one refresh serves all calls in flight and, where
 *   there are Web Locks, all tabs. Without a refresh the 401 is what the call resolves to;
 * - waits as long as `Retry-After` says after a 429 or 503, three times and 60 s in all at most.
 *
 * A call rejects with `fetch`'s TypeError when no answer came, and with its signal's reason when it was aborted.
 */
export function createClient({ baseUrl, deviceId, fetch: send = (request) => fetch(request) }: ClientOptions): Client {
  const patient = withRetries(withDevice(send, deviceId))
  const client = createOpenApiClient<paths>({ baseUrl, credentials: 'include', fetch: withRefresh(patient) })
  return Object.assign(client, { baseUrl })
}
