import createOpenApiClient, { type Client as OpenApiClient } from 'openapi-fetch'
import type { paths } from '../../../generated/client.ts'
import { startLogin, takeDeviceId } from '../../../generated/paths.ts'
import { ApiError } from '../errors.ts'
import { assertId } from '../ids.ts'
import { withRefresh } from './refresh.ts'
import type { SendRequest } from './retry.ts'
import { withRetries } from './retry.ts'

/** The service, and this device. */
export interface ClientOptions {
  /** The service's PUBLIC_URL, an origin without a path, such as `https://sync.example.org`. */
  baseUrl: string
  /** Identifies this device: 1 to 128 printable ASCII characters. Must stay the same for as long as the device keeps its store. */
  deviceId: string
  /** Replaces the platform's `fetch`: in Node, pass one that sends cookies. */
  fetch?: SendRequest | undefined
}

/** openapi-fetch's client for the contract: `client.GET('/api/v1/bookmarks', { params: { query: { page: 2 } } })`. */
export interface Client extends OpenApiClient<paths> {
  readonly baseUrl: string
  /** What calls name this device by: the option, until a sync takes another id for it. */
  deviceId: () => string
  /** As `fetch` of a call: without the waits for `Retry-After`, for whoever waits by themselves, as a sync does. */
  readonly sendOnce: SendRequest
}

/**
 * A client for the service. The contract types every path, parameter, body and status. A call resolves to
 * `{ data, error, response }`, as in openapi-fetch (https://openapi-ts.dev/openapi-fetch), so companion libraries such as
 * openapi-react-query work with it. `unwrap` returns the data, or throws an error with the contract's text.
 *
 * In addition to what openapi-fetch does, each call
 * - sends the cookies, also to another origin (`credentials: 'include'`), and `X-Device-ID` if the operation accepts it;
 * - is repeated once after a 401 if the session could be refreshed. One refresh serves all calls in flight and, where Web
 *   Locks are available, all tabs. If the refresh fails, the call resolves to the 401;
 * - waits for the time in `Retry-After` after a 429 or 503, at most three times and 60 s in all.
 *
 * A call rejects with `fetch`'s TypeError if no response arrived, with its signal's reason if it was aborted, and with
 * ApiError if a web page arrived: `baseUrl` is then that of another server, or the network wants its user to sign in first.
 * So it does if the page to sign in at (`authorizationUrl`) has no `http:` or `https:` address, where it would not be safe to go.
 *
 * @throws RangeError `baseUrl` or `deviceId` is not valid
 */
export function createClient({ baseUrl, deviceId, fetch: send = (request) => fetch(request) }: ClientOptions): Client {
  // Every request would fail with fetch's TypeError, as if there were no network.
  assertId(deviceId, 'deviceId')
  assertOrigin(baseUrl)
  const sendOnce = withRefresh(send)
  const calls = createOpenApiClient<paths>({ baseUrl, credentials: 'include', fetch: withRetries(sendOnce) })
  const client = Object.assign(calls, { baseUrl, sendOnce, deviceId: () => deviceId })
  client.use({
    onRequest({ request, schemaPath }) {
      // Elsewhere the header would only cost a browser a preflight, as it does where a path is the beginning of one listed.
      if (takeDeviceId.includes(request.method + schemaPath)) request.headers.set('x-device-id', client.deviceId())
    },
    // A server of pages may answer every path with 200, or with a 404 that looks like the service's own. What a proxy of the
    // service refuses in HTML, such as a large body with 413, is told by its status.
    async onResponse({ response, schemaPath }) {
      const { status, headers } = response
      if (/2..|40[1345]/.test(`${status}`) && headers.get('content-type')?.includes('html'))
        throw pageSent(status, baseUrl)
      // Where an app goes to a `javascript:` address, the service would run code among its keys.
      if (
        schemaPath === startLogin &&
        response.ok &&
        !/^https?:/.test((await response.clone().json()).authorizationUrl)
      )
        throw new ApiError(status, 'Not a web address')
    },
  })
  return client
}

const pageSent = (status: number, baseUrl: string) =>
  new ApiError(status, `${baseUrl} sent a web page: wrong address, or the network wants a sign-in`)

function assertOrigin(baseUrl: string): void {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const isOrigin = url && /^http/.test(url.href) && url.href === `${url.origin}/`
  if (!isOrigin) throw new RangeError(`baseUrl must be like https://sync.example.org, not ${JSON.stringify(baseUrl)}`)
}
