import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { completeLogin } from '../../../generated/paths.ts'
import type { Client } from '../api/client.ts'
import { isOurResponse, notOurs } from '../api/ours.ts'
import type { SendRequest } from '../api/retry.ts'
import { answer, unwrap } from '../api/unwrap.ts'

/** The sign-in in the browser failed; `message` has the reason. */
export class SignInError extends Error {
  override readonly name = 'SignInError'
}

export interface SignInOptions {
  client: Client
  /** Keeps the cookies, and follows no redirects. */
  fetch: SendRequest
  /** Shows the URL to the user, or opens it in their browser. */
  open(url: string): unknown
  signal?: AbortSignal | undefined
}

/**
 * Signs in through the user's browser (RFC 8252): the service sends the browser on to a listener on this machine, with
 * the provider's code, which only this program can redeem, because it has the cookie of this sign-in.
 *
 * @throws SignInError the sign-in was refused or has expired
 * @throws ApiError the service refused to start the sign-in
 * @throws OfflineError, the signal's reason, or what `open` throws
 */
export async function signInByRedirect({ client, fetch: send, open, signal }: SignInOptions): Promise<void> {
  const listener = await listen(signal)
  try {
    const body = { returnTo: listener.url }
    const login = await answer(client.POST('/api/v1/auth/login', { body, signal: signal ?? null }))
    const { authorizationUrl } = unwrap(login)
    const { search, response } = await Promise.race([
      listener.redirected,
      failureOf(async () => open(authorizationUrl)),
    ])
    const failure = await redeem(send, new URL(`${completeLogin}${search}`, client.baseUrl), listener.url)
    await respond(response, failure ?? 'You are signed in. You can close this page.')
    if (failure !== undefined) throw new SignInError(failure)
  } finally {
    listener.close()
  }
}

/** Rejects if the task fails, and otherwise never settles: opening a browser may end before or after the sign-in. */
function failureOf(task: () => Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => {
    task().catch(reject)
  })
}

/** Sends the code to the service. Returns why the service refused it; undefined after success. */
async function redeem(send: SendRequest, callback: URL, returnTo: string): Promise<string | undefined> {
  const arrived = await answer(send(new Request(callback)))
  const { status, headers } = arrived
  const location = headers.get('location') ?? ''
  if (location === returnTo) return undefined
  const { pathname, searchParams } = new URL(location, callback)
  const error = pathname === '/login' ? searchParams.get('error') : null
  // A redirect alone proves nothing: captive portals redirect, too.
  if (error === null && !(await isOurResponse(arrived))) throw notOurs(arrived)
  return error ?? `The sign-in has expired, or the service refused it (status ${status})`
}

/** Waits for the browser, under a path that no page can guess. */
async function listen(signal: AbortSignal | undefined) {
  const { promise: redirected, resolve, reject } = Promise.withResolvers<{ search: string; response: ServerResponse }>()
  redirected.catch(() => {})
  const path = `/${randomUUID()}`
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname === path) resolve({ search, response })
    else response.writeHead(404).end()
  })
  await new Promise<void>((done, fail) => {
    server.once('error', fail).listen(0, '127.0.0.1', done)
  })
  const onAbort = () => reject(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    redirected,
    close() {
      signal?.removeEventListener('abort', onAbort)
      server.close()
      server.closeAllConnections()
    },
  }
}

function respond(response: ServerResponse, text: string): Promise<void> {
  response.setHeader('content-type', 'text/plain; charset=utf-8')
  return new Promise((done) => {
    // Unlike `finish`, `close` is emitted even if the browser has disconnected.
    response.once('close', done)
    response.end(text)
  })
}
