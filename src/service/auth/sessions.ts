import { hash as hashOf, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyBaseLogger, FastifyRequest, onRequestAsyncHookHandler, onRequestHookHandler } from 'fastify'
import { parse } from 'uuid'
import { operations } from '../../../generated/operations.ts'
import { ServiceError } from '../contract/errors.ts'
import type { OperationId } from '../contract/schemas.ts'
import type { Database, Db, Trx } from '../db/engine/database.ts'
import { onceAnswered } from '../db/engine/query.ts'
import { holdLogin, type LoginKey, saveUse } from '../db/tables/logins.ts'
import { findSessions, type SentToken, type Session, saveToken } from '../db/tables/tokens.ts'
import type { Limits } from '../load/rates.ts'
import { type CookieConfig, type CookieName, clearedCookies, refreshSeconds, sessionSeconds } from './cookies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    session: Session | undefined
    /** The first login that a sign-out finds. The request waits in this user's queue, not in its network's. */
    leaving: LoginKey | undefined
  }
}

export interface SessionParts {
  config: CookieConfig
  database: Pick<Database, 'db'>
  limits: Pick<Limits, 'countWrongCookie' | 'countUser'>
  uses: Pick<SessionUses, 'note'>
  clock: () => number
}

type Scheme = (typeof operations)[OperationId]['security']

export type TokenHeaders = Pick<IncomingHttpHeaders, 'cookie' | 'authorization'>

/** The contract's security schemes: the kind of token each reads, and its 401 for a missing and for a wrong token. */
const schemes = {
  sessionCookie: { kind: 'session', missing: 'AuthenticationRequired', wrong: 'InvalidSession' },
  refreshCookie: { kind: 'refresh', missing: 'NoRefreshToken', wrong: 'RefreshFailed' },
  optional: { kind: 'session', missing: undefined, wrong: undefined },
} as const

/**
 * These operations also have a rate limit per login. If another session uses up the user's, the owner can still find
 * and end that session; ending it costs nothing.
 */
const findsSessions: OperationId[] = ['getSession', 'refreshSession', 'listSessions']

/**
 * Checks the operation's session, then the user's rate limit, then `X-User-ID`. Only wrong tokens count against the limit
 * of an address, and get 429 beyond it: it does not refuse requests with a valid session, and those without a token do not
 * count, because any web page can make its visitors' browsers send them. The session takes one query by primary key.
 */
export function createSecurity(parts: SessionParts) {
  const { limits } = parts
  async function findLeaving(request: FastifyRequest): Promise<void> {
    try {
      request.leaving = (await findLoginsOf(parts.database.db, request.headers, parts.clock()))[0]
    } catch {
      // The operation looks for the login again and reports the error.
    }
  }

  return (operationId: OperationId): onRequestHookHandler | onRequestAsyncHookHandler => {
    const scheme: Scheme = operations[operationId].security
    const cost = operations[operationId].cost.request
    if (operationId === 'logout') return findLeaving
    if (scheme === 'none') return (_request, _reply, next) => next()
    const { kind, missing, wrong } = schemes[scheme]
    const hasOwnRate = findsSessions.includes(operationId)
    // The contract fixes the order of checks for this operation, so http/realtime.ts checks the user.
    const checksUserItself = operationId === 'openRealtime'

    function admit(request: FastifyRequest, session: Session | undefined): void {
      request.session = session
      if (session) {
        parts.uses.note(session)
        if (cost > 0) limits.countUser(session.userId, cost, hasOwnRate ? session.loginId : undefined)
        if (!checksUserItself && !actsFor(request.headers['x-user-id'], session))
          throw new ServiceError('ForbiddenUser')
        return
      }
      const isTokenSent = sendsToken(request.headers, kind)
      if (isTokenSent) limits.countWrongCookie(request.ip)
      const error = isTokenSent ? wrong : missing
      if (error) throw new ServiceError(error)
    }

    return (request, reply, next) => {
      const found = findLoginsOf(parts.database.db, request.headers, parts.clock())
      const admitted = onceAnswered(found, (logins) => {
        const isOfOne = logins.every(({ userId }) => userId === logins[0]?.userId)
        // If two users' tokens came, another host of the domain may have set a cookie. The service cannot tell which.
        if (!isOfOne)
          for (const { name, value, options } of clearedCookies(parts.config)) reply.setCookie(name, value, options)
        admit(request, isOfOne ? logins.find((login) => login.kind === kind) : undefined)
      })
      if (admitted instanceof Promise) admitted.then(() => next(), next)
      else next()
    }
  }
}

/** False if X-User-ID names another user. The header is optional, but an empty one matches nobody. */
export function actsFor(named: string | string[] | undefined, { userId }: Pick<Session, 'userId'>): boolean {
  return named === undefined || named === userId
}

/** True if the request has a token of one of these kinds, valid or not. */
export function sendsToken(headers: TokenHeaders, ...kinds: TokenKind[]): boolean {
  return kinds.some((kind) => sentValues(headers, kind).some((value) => value !== ''))
}

/** The tokens sent. The Authorization header comes first, because a program sets it on purpose. */
function sentValues({ cookie, authorization }: TokenHeaders, kind: TokenKind): string[] {
  const cookies = cookieValues(cookie, `service_${kind}`)
  // A proxy may use the header for itself, with another scheme.
  const [, token] = (kind === 'session' && authorization?.match(/^Bearer +(.*)/i)) || []
  return token === undefined ? cookies : [token, ...cookies]
}

/** All values of a cookie. A stale one from another domain or path may come first, so each is tried. */
export function cookieValues(header: string | undefined, name: CookieName): string[] {
  const values: string[] = []
  if (!header?.includes(name)) return values
  for (const pair of header.split(';')) {
    const text = pair.trim()
    if (text.startsWith(name) && text[name.length] === '=') values.push(text.slice(name.length + 1))
  }
  return values
}

type TokenKind = 'session' | 'refresh'

const lifetimes = { session: sessionSeconds * 1000, refresh: refreshSeconds * 1000 }
const idBytes = 16
const secretBytes = 16

/**
 * The login of each valid session token (the header's first), then of each refresh token. Not cached: a sign-out counts
 * at once. All tokens are looked up: another host of the domain must not hide a session, or a sign-out, behind its
 * cookies. The 540 that fit into 32 KiB of headers take 1 ms.
 */
export function findLoginsOf(db: Db, headers: TokenHeaders, now: number): ReturnType<typeof findSessions> {
  return findSessions(db, [...tokensOf(headers, 'session'), ...tokensOf(headers, 'refresh')], now)
}

/** All well-formed tokens in the headers, each once: an expired one must not hide a valid one. */
function tokensOf(headers: TokenHeaders, kind: TokenKind): SentToken[] {
  const tokens = new Set(sentValues(headers, kind).filter((value) => /^[\w-]{43}$/.test(value)))
  return Array.from(tokens, (token) => ({ kind, hash: hash(token), userId: userOf(token) }))
}

/**
 * Issues a token: the user's id and 128 random bits, in base64url. The id leads to the database server that has the
 * user's rows. The database stores only the SHA-256. The token does not outlive `endsAt`.
 */
export async function issueToken(
  trx: Trx,
  kind: TokenKind,
  { userId, loginId }: LoginKey,
  now: number,
  endsAt: number | null = null,
): Promise<string> {
  const token = Buffer.concat([parse(userId), randomBytes(secretBytes)]).toString('base64url')
  await saveToken(trx, {
    hash: hash(token),
    kind,
    user_id: userId,
    login_id: loginId,
    issued_at: now,
    expires_at: Math.min(now + lifetimes[kind], endsAt ?? Number.POSITIVE_INFINITY),
  })
  return token
}

function userOf(token: string): string {
  const hex = Buffer.from(token, 'base64url').toString('hex', 0, idBytes)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function hash(token: string): string {
  return hashOf('sha256', token, 'base64url')
}

/**
 * Checks in a write's own transaction that the login still exists: the session was checked before the body arrived, and
 * may have been signed out since. The login cannot end before the transaction does.
 *
 * @throws ServiceError InvalidSession
 */
export async function requireLogin(trx: Trx, login: LoginKey): Promise<void> {
  if (!(await holdLogin(trx, login))) throw new ServiceError('InvalidSession')
}

const hourMs = 3_600_000
/** Milliseconds between writes of noted uses. When the process ends, those not written yet are lost. */
const writeEveryMs = 30_000
/** The most noted logins: 10 MiB. Beyond that, a use may be written more than once an hour, which is harmless. */
const maxNoted = 100_000
/** Uses written at once. Few, so that users' writes get in between. */
const writesAtOnce = 4

/** Keeps the hour in which each login was last used. */
type SessionUses = ReturnType<typeof followUses>

interface UseParts {
  database: Pick<Database, 'write'>
  clock: () => number
  log: FastifyBaseLogger
}

/** Stores the first use of each login in an hour, some time after the request. */
export function followUses({ database, clock, log }: UseParts) {
  const noted = new Set<string>()
  const unwritten = new Map<string, { login: LoginKey; hour: number }>()
  let hour = 0
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    while (unwritten.size > 0) {
      const batch = [...unwritten].slice(0, writesAtOnce)
      // A transaction per session: one that locks several could deadlock with a transaction that ends these sessions.
      await Promise.all(batch.map(([, { login, hour }]) => database.write((trx) => saveUse(trx, login, hour))))
      for (const [loginId, use] of batch) if (unwritten.get(loginId) === use) unwritten.delete(loginId)
    }
  }

  const timer = setInterval(() => {
    writing ??= write()
      .catch((err) => log.warn({ err }, 'when sessions were used could not be stored, retrying'))
      .finally(() => {
        writing = undefined
      })
  }, writeEveryMs).unref()

  return {
    /** Only notes the use, so that the request does not wait. */
    note({ userId, loginId }: LoginKey): void {
      const now = hourOf(clock())
      if (now !== hour || noted.size >= maxNoted) noted.clear()
      hour = now
      if (noted.has(loginId)) return
      noted.add(loginId)
      unwritten.set(loginId, { login: { userId, loginId }, hour })
    },
    async close(): Promise<void> {
      clearInterval(timer)
      unwritten.clear()
      await writing
    },
  }
}

/** The start of the hour (Unix ms) in which `time` is. */
export function hourOf(time: number): number {
  return time - (time % hourMs)
}
