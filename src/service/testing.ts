/** `encrypted-bookmark-sync/testing`: the service in this process, for tests of apps. See docs/client.md. */
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { CompiledQuery } from 'kysely'
import { pino } from 'pino'
import { WebSocket as SocketWithCookies } from 'undici'
import { createApp } from './app.ts'
import { loginSeconds } from './auth/cookies.ts'
import { findLoginsOf } from './auth/sessions.ts'
import { signIn } from './auth/sign-in.ts'
import { readConfig } from './config/config.ts'
import { type Context, openContext } from './context.ts'
import { openLog } from './log.ts'

/** A service that runs in this process. */
export interface TestService {
  /** Signs a device in, without a provider. The first call with a name creates the user. */
  connect(name: string): Promise<TestConnection>
  /** Stops the service and deletes its data, which also happens when the process ends. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A device's session and network: the options of `createClient` and `createSync` that depend on the service. */
export interface TestConnection {
  readonly baseUrl: string
  readonly userId: string
  /** Sends the session's cookies. */
  readonly fetch: (request: Request) => Promise<Response>
  /** Sends the session's cookies. */
  readonly webSocket: (url: string) => Pick<WebSocket, 'addEventListener' | 'close' | 'send'>
  /** Cuts the network: calls reject, sockets close. */
  goOffline(): void
  goOnline(): void
  /** Ends the session as if it had expired: calls get a 401, refreshing fails, sockets close. */
  endSession(): Promise<void>
  /** Signs the user in again. */
  signIn(): Promise<void>
}

interface Parts {
  app: FastifyInstance
  context: Context
  baseUrl: string
  isClosed: boolean
}

/**
 * Starts the service on an empty database in a temporary folder, without rate limits. Prints errors on stderr.
 *
 * @param now the service's clock (Unix ms)
 */
export async function startService({
  now = () => Date.now(),
}: {
  now?: (() => number) | undefined
} = {}): Promise<TestService> {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-testing-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeFolder)
  const config = readConfig({
    DATA_DIR: folder,
    RATE_LIMIT_PER_MINUTE: '1000000000',
    SERVE_APP: 'false',
    // Nothing listens there. The development provider would need a port and another package.
    OIDC_ISSUER: 'http://127.0.0.1:9',
    OIDC_CLIENT_ID: 'testing',
    OIDC_CLIENT_SECRET: 'testing',
  })
  const log = openLog('error', pino.destination({ dest: 2, sync: true }))
  const context = await openContext(config, { log, clock: now })
  const { db } = context.database
  // The data does not outlive the process, so commits need not wait for the disk.
  await db.executeQuery(CompiledQuery.raw('pragma synchronous = off'))
  // SQLite keeps its log short by itself. The service's thread for that would keep the process alive.
  await db.executeQuery(CompiledQuery.raw('pragma wal_autocheckpoint = 1000'))
  const app = await createApp(context)
  // The first sweep ends before a test writes data with a changed clock, which it might erase.
  await context.sweeps.first
  // Stops guarding the clock, because tests may set it as they like.
  await context.clockGuard.close()
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  // The process can exit even if the test does not close the service.
  app.server.unref()
  const parts = { app, context, baseUrl, isClosed: false }
  const close = async () => {
    parts.isClosed = true
    await app.close()
    await context.close()
    removeFolder()
    process.off('exit', removeFolder)
  }
  return { connect: (name) => connectAs(name, parts), close, [Symbol.asyncDispose]: close }
}

async function connectAs(name: string, parts: Parts): Promise<TestConnection> {
  const { app, context, baseUrl } = parts
  const sockets = new Set<SocketWithCookies>()
  let isOnline = true
  let cookies = await signInAs(name, context)
  const [login] = await findLoginsOf(context.database.db, { cookie: cookieHeader(cookies) }, context.clock())
  if (!login) throw new Error(`${name} could not be signed in`)
  const requireNetwork = () => {
    if (!isOnline || parts.isClosed) throw new TypeError('The network is down')
  }
  return {
    baseUrl,
    userId: login.userId,
    async fetch(request) {
      request.signal.throwIfAborted()
      requireNetwork()
      const response = await send(request, app, cookies)
      requireNetwork()
      return response
    },
    webSocket(url) {
      const headers = { cookie: cookieHeader(cookies) }
      const socket = new SocketWithCookies(isOnline ? url : 'ws://127.0.0.1:9', { headers })
      sockets.add(socket)
      socket.addEventListener('close', () => sockets.delete(socket))
      return socket as Pick<SocketWithCookies, 'close' | 'send'> as ReturnType<TestConnection['webSocket']>
    },
    goOffline() {
      isOnline = false
      for (const socket of sockets) socket.close()
    },
    goOnline() {
      isOnline = true
    },
    async endSession() {
      await app.inject({ method: 'POST', url: '/api/v1/auth/logout', headers: { cookie: cookieHeader(cookies) } })
    },
    async signIn() {
      cookies = await signInAs(name, context)
    },
  }
}

type Cookies = Map<string, string>

async function signInAs(name: string, context: Context): Promise<Cookies> {
  const profile = { email: `${name}@example.org`, name, avatar_url: '', email_verified: true }
  const { session, refresh } = await signIn(
    context,
    { identity: { issuer: 'http://testing', subject: name, ...profile }, refreshToken: null, authenticatedAt: null },
    { nonce: randomUUID(), expiresAt: context.clock() + loginSeconds * 1000 },
    'a test',
  )
  return new Map([
    ['service_session', session],
    ['service_refresh', refresh],
  ])
}

function cookieHeader(cookies: Cookies): string {
  return [...cookies].map((pair) => pair.join('=')).join('; ')
}

/** Calls the service directly, because a test may have replaced `fetch`. */
async function send(request: Request, app: FastifyInstance, cookies: Cookies): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const answer = await app.inject({
    method: request.method as 'GET',
    url: pathname + search,
    headers: { ...Object.fromEntries(request.headers), cookie: cookieHeader(cookies) },
    ...(request.body && { payload: Buffer.from(await request.arrayBuffer()) }),
  })
  for (const { name, value } of answer.cookies) {
    if (value === '') cookies.delete(name)
    else cookies.set(name, value)
  }
  const headers = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)])
  const body = answer.rawPayload.length > 0 ? new Uint8Array(answer.rawPayload) : null
  return new Response(body, { status: answer.statusCode, headers })
}
