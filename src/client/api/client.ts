import createOpenApiClient, { type Middleware, type Client as OpenApiClient } from 'openapi-fetch'
import type { paths } from '../../../generated/client.ts'
import { getSession, startLogin, takeDeviceId } from '../../../generated/paths.ts'
import { ApiError, OfflineError } from '../errors.ts'
import { assertId } from '../ids.ts'
import { isOurs, notOurs } from './ours.ts'
import { withRefresh } from './refresh.ts'
import type { SendRequest } from './retry.ts'
import { withRetries } from './retry.ts'
import type { CallResult } from './unwrap.ts'

/** The options of `createClient`. */
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
  /** The id that calls send in `X-Device-ID`: the option's, until the sync replaces it because its store was copied. */
  deviceId: () => string
  /** `fetch` with the refresh of the session, but no retries after `Retry-After`: a sync, for example, retries itself. */
  readonly sendOnce: SendRequest
  /**
   * The same client, but all calls act for this user, and are refused if somebody else has signed in (403
   * `Forbidden user`, from which `unwrap` makes a SignedOutError). The functions of this package that act for a signed-in
   * user call through it.
   *
   * @param userId the user's `user_id`
   */
  as(userId: string): Client
}

/**
 * A client for the service. The contract types every path, parameter, body and status. A call resolves to
 * `{ data, error, response }`, as in openapi-fetch (https://openapi-ts.dev/openapi-fetch), so companion libraries such
 * as openapi-react-query work with it. `unwrap` returns the data, or throws an error with the contract's text.
 *
 * In addition to what openapi-fetch does, each call
 * - sends the cookies, also to another origin (`credentials: 'include'`), and `X-Device-ID` if the operation accepts it;
 * - follows no redirect: the contract has none, and another server would get the body;
 * - names the client's user in `X-User-ID`: the first user whom `GET /api/v1/auth/session` has reported, or for whom a
 *   function of this package was called. The user stays the same for as long as the client exists.
 *   `GET /api/v1/auth/session` itself names nobody, so it can report another user who has signed in since; create
 *   another client for them. Until the client knows its user, calls act for the user who happens to be signed in: if
 *   you know the id, call through `as(userId)`;
 * - is repeated after a 401 if the session could be refreshed. One refresh serves all calls in flight and, with
 *   Web Locks, all tabs. If the service refuses the refresh, the call resolves to the first 401; if it responds with
 *   another error, to that response;
 * - is repeated after a 429 or 503 as soon as `Retry-After` allows, at most three times and within 60 s in all.
 *
 * A call rejects with `fetch`'s TypeError if no response arrived or it broke off, with its signal's reason if it was
 * aborted, and with OfflineError if the JSON is incomplete, if the refresh took over 60 s, or if something other than the
 * service responded, whatever the status: a proxy, a network's sign-in page, or another server at `baseUrl`. Starting a
 * sign-in rejects with ApiError if the `authorizationUrl` is not an `http:` or `https:` address.
 *
 * @throws RangeError `baseUrl` or `deviceId` is not valid
 */
export function createClient({ baseUrl, deviceId, fetch: send = (request) => fetch(request) }: ClientOptions): Client {
  // Checked first: with an invalid id, every request would fail with fetch's TypeError, as if there were no network.
  assertId(deviceId, 'deviceId')
  assertOrigin(baseUrl)
  const sendOnce = withRefresh(send)
  /** The user in `X-User-ID`: the first one that the service or the app has named, even if another user signs in later. */
  let known: string | undefined
  const acting = new Map<string, Client>()
  // `manual` instead of `error`, which Cloudflare's workerd does not support. Neither follows a redirect.
  const init = { credentials: 'include', redirect: 'manual' } as const
  const calls = createOpenApiClient<paths>({ ...init, baseUrl, fetch: withRetries(sendOnce) })
  const as = (userId: string) => {
    const own = acting.get(userId) ?? actingFor(client, userId, deviceId)
    acting.set(userId, own)
    known ??= userId
    return own
  }
  const own = () => (known === undefined ? undefined : as(known))
  const client: Client = Object.assign(calls, onlyFromService(calls), {
    ...{ baseUrl, sendOnce, as },
    deviceId: () => own()?.deviceId() ?? deviceId,
  })
  client.use(headersAndChecks(client, (path) => (path === getSession ? undefined : known)))
  client.use({
    async onResponse({ response, schemaPath }) {
      if (schemaPath !== getSession || !response.ok) return
      const session = await response
        .clone()
        .json()
        .catch(() => undefined)
      known ??= session?.user?.user_id
    },
  })
  return client
}

const verbs = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE'] as const
type Init = { middleware?: Middleware[]; parseAs?: string }
type Send = (verb: string, path: string, init?: Init) => Promise<CallResult<unknown>>

/** Wraps the client's calls so that they reject with OfflineError if something other than the service responds. */
function onlyFromService(calls: OpenApiClient<paths>): Partial<OpenApiClient<paths>> {
  const send = calls.request as unknown as Send
  const request: Send = async (verb, path, init) => {
    const result = await send(verb, path, init).catch((cause) => {
      throw cause instanceof SyntaxError ? new OfflineError(undefined, { cause }) : cause
    })
    const { response, data, error } = result
    const isJson = (init?.parseAs ?? 'json') === 'json'
    if (!isOurs(response, response.ok ? data : error, isJson ? verb.toUpperCase() + path : '')) throw notOurs(response)
    return result
  }
  return { ...callsOf((verb) => (path, init) => request(verb, path, init)), request: request as never }
}

function callsOf(callOf: (verb: (typeof verbs)[number]) => (path: string, init?: Init) => unknown): object {
  return Object.fromEntries(verbs.map((verb) => [verb, callOf(verb)]))
}

/** The same client, including the app's middleware, for one user. */
function actingFor(client: Client, userId: string, deviceId: string): Client {
  const named: Middleware = {
    onRequest({ request, schemaPath }) {
      request.headers.set('x-user-id', userId)
      nameDevice(request, schemaPath, own)
    },
  }
  const withUser = (init: Init = {}) => ({ ...init, middleware: [named, ...(init.middleware ?? [])] })
  const send = client.request as unknown as Send
  const request: Send = (verb, path, init) => send(verb, path, withUser(init))
  const own: Client = {
    ...client,
    ...callsOf((verb) => (path, init) => request(verb, path, init)),
    request: request as never,
    deviceId: () => deviceId,
  }
  return own
}

/** Adds `X-Device-ID` if the operation takes it. Reading the session, without `X-User-ID` either, thus needs no preflight. */
function nameDevice(request: Request, path: string, { deviceId }: Pick<Client, 'deviceId'>): void {
  if (takeDeviceId.includes(request.method + path)) request.headers.set('x-device-id', deviceId())
}

/** Adds `X-User-ID` and `X-Device-ID`. Rejects web pages, which are not JSON, and unsafe sign-in addresses. */
function headersAndChecks(client: Client, userFor: (path: string) => string | undefined): Middleware {
  return {
    onRequest({ request, schemaPath }) {
      const userId = userFor(schemaPath)
      if (userId !== undefined) request.headers.set('x-user-id', userId)
      nameDevice(request, schemaPath, client)
    },
    async onResponse({ response, schemaPath }) {
      const { ok, status, headers } = response
      if (ok && headers.get('content-type')?.includes('html')) throw notOurs(response)
      if (schemaPath !== startLogin || !ok) return
      // Following a `javascript:` address would run the service's code next to the app's keys.
      const { authorizationUrl = 'http:' } = await response.clone().json()
      if (!/^https?:/.test(authorizationUrl)) throw new ApiError(status, 'Not a web address')
    },
  }
}

function assertOrigin(baseUrl: string): void {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const isOrigin = url && /^http/.test(url.href) && url.href === `${url.origin}/`
  if (!isOrigin) throw new RangeError(`baseUrl must be like https://sync.example.org, not ${JSON.stringify(baseUrl)}`)
}
