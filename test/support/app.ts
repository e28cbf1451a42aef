import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { CompiledQuery } from 'kysely'
import type { Test } from 'tap'
import { createApp } from '../../src/service/app.ts'
import { findLoginsOf } from '../../src/service/auth/sessions.ts'
import { signIn } from '../../src/service/auth/sign-in.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { type Context, openContext } from '../../src/service/context.ts'
import { openLog } from '../../src/service/log.ts'
import { type Answered, checkAnswer } from './contract.ts'
import { databaseUrl } from './database-url.ts'
import { makeMigrated } from './migrated.ts'
import { recordStatements } from './statements.ts'

/** What the service has sent to Postgres in the tests of this process. */
export const sent = recordStatements()

/** The service with its own data folder. It has no port before `listen()`, and closes itself at the end of the test. */
export interface TestApp {
  app: FastifyInstance
  context: Context
  dataDir: string
  /** All logged lines. */
  log: string[]
  /** Sets the server's clock (Unix ms); undefined restores the real one. */
  setClock(now: number | undefined): void
  /** Listens on a free port and returns the origin. */
  listen(): Promise<string>
  /** Sends a request and checks the response against openapi.yaml. */
  call(method: string, path: string, request?: CallOptions): Promise<Answered>
  /** Signs a person in. The same name is the same person; each call is a separate sign-in. */
  user(name: string): Promise<TestUser>
  /** A user whom another app on the same data has signed in, with `call` sending to this app. */
  as(user: TestUser): TestUser
  close(): Promise<void>
}

export interface CallOptions {
  body?: unknown
  headers?: Record<string, string>
  /** Sent unchanged instead of `body`. */
  payload?: InjectOptions['payload']
  /** The caller's IP address. */
  from?: string
}

export interface TestUser {
  userId: string
  loginId: string
  session: string
  refresh: string
  /** The Cookie header of the session. */
  cookie: string
  call(method: string, path: string, request?: CallOptions): Promise<Answered>
}

export interface BuildOptions {
  /** The folder of an earlier app, whose data this one uses. */
  dataDir?: string
  /** The server's clock at the start (Unix ms), as `setClock` sets it. */
  now?: number
}

export async function buildApp(
  t: Pick<Test, 'teardown'>,
  env: Record<string, string> = {},
  { dataDir, now: startsAt }: BuildOptions = {},
): Promise<TestApp> {
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), 'ebs-test-')))
  if (dataDir === undefined) await makeMigrated(folder)
  const DATABASE_URL = await databaseUrl(folder)
  const config = readConfig({
    DATA_DIR: folder,
    DATABASE_URL,
    RATE_LIMIT_PER_MINUTE: '1000000',
    SERVE_APP: 'false',
    ...unusedProvider,
    ...env,
  })
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  let now = startsAt
  const context = await openContext(config, { log: openLog(config.logLevel, sink), clock: () => now ?? Date.now() })
  // Test data need not survive a crash, so no commit waits for the disk.
  const url = env.DATABASE_URL ?? DATABASE_URL
  if (url.startsWith('sqlite:')) await context.database.db.executeQuery(CompiledQuery.raw('pragma synchronous = off'))
  const app = await createApp(context)
  // The first sweep would delete rows that a test wrote under another time, and its queries would be counted.
  await context.sweeps.first
  // Once a minute, the guard would find that a test has set the clock.
  await context.clockGuard.close()
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    await app.close()
    await context.close()
  }
  t.teardown(async () => {
    await close()
    if (dataDir === undefined) await rm(folder, { recursive: true, force: true })
  })

  const call: TestApp['call'] = async (method, path, { body, headers = {}, payload, from = '127.0.0.1' } = {}) => {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const content = body === undefined ? payload : JSON.stringify(body)
    const request = { method: method as 'GET', url: path, headers: { ...json, ...headers }, remoteAddress: from }
    const response = await app.inject(content === undefined ? request : { ...request, payload: content })
    return checkAnswer(method, path, response.statusCode, response.headers, response.rawPayload, content)
  }
  return {
    app,
    context,
    dataDir: folder,
    log: lines,
    setClock(value) {
      now = value
    },
    listen: () => app.listen({ host: '127.0.0.1', port: 0 }),
    call,
    user: (name) => signedIn(context, name, call),
    as: (user) => sendingTo(call, user),
    close,
  }
}

/** A provider that is never reached: most tests sign people in without it. test/provider tests real sign-ins. */
export const unusedProvider = { OIDC_ISSUER: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'test', OIDC_CLIENT_SECRET: 'test' }

/** The settings that a start in production needs. It does not reach the provider, either. */
export const production = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://sync.example.org',
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  OIDC_ISSUER: 'https://127.0.0.1:9',
  OIDC_CLIENT_ID: 'id',
  OIDC_CLIENT_SECRET: 'the client secret',
}

/** The maximum duration of a sign-in. Its nonce is kept so long, so that it cannot be used again. */
const attemptMs = 600_000

async function signedIn(context: Context, name: string, call: TestApp['call']): Promise<TestUser> {
  const { issuer } = context.provider
  const hasProvider = issuer !== unusedProvider.OIDC_ISSUER
  const identity = {
    // The service refuses users of other issuers than its provider, so these have its issuer, with other subjects.
    issuer: hasProvider ? issuer : 'http://test',
    subject: hasProvider ? `test ${name}` : name,
    email: `${name}@example.org`,
    name,
    avatar_url: '',
    email_verified: true,
  }
  const { session, refresh } = await signIn(
    context,
    { identity, refreshToken: null, authenticatedAt: null },
    { nonce: randomUUID(), expiresAt: context.clock() + attemptMs },
    `${name}'s browser`,
  )
  const [found] = await findLoginsOf(context.database.db, { cookie: `service_session=${session}` }, context.clock())
  if (!found) throw new Error(`${name} could not be signed in`)
  const { userId, loginId } = found
  return sendingTo(call, { userId, loginId, session, refresh, cookie: `service_session=${session}` })
}

/** A signed-in user whose requests go through `call`. */
export function sendingTo(call: TestApp['call'], user: Omit<TestUser, 'call'>): TestUser {
  const { cookie } = user
  return {
    ...user,
    call: (method, path, request = {}) => call(method, path, { ...request, headers: { cookie, ...request.headers } }),
  }
}
