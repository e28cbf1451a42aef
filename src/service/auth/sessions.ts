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
    /** A login that a sign-out ends, whose session need not be valid: its request waits in that user's queue, not in its network's. */
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

/** The headers that carry tokens. */
export type TokenHeaders = Pick<IncomingHttpHeaders, 'cookie' | 'authorization'>

/** Each of the contract's security schemes reads a kind of token, and has a 401 for none, and for a wrong one. */
const schemes = {
  sessionCookie: { kind: 'session', missing: 'AuthenticationRequired', wrong: 'InvalidSession' },
  refreshCookie: { kind: 'refresh', missing: 'NoRefreshToken', wrong: 'RefreshFailed' },
  optional: { kind: 'session', missing: undefined, wrong: undefined },
} as const

/**
 * These have a rate of each login's own, for when another session uses up the user's: the owner must find that session. Ending
 * it costs nothing.
 */
const findsSessions: OperationId[] = ['getSession', 'refreshSession', 'listSessions']

/**
 * Checks the operation's session, then the user's limit, then that the request acts for that user. A valid session passes whatever else its address does, and a
 * request without a token counts for nothing: any web page can make its visitors' browsers send those. Only wrong
 * tokens count for an address; beyond its limit they get 429. Each costs one query by primary key.
 */
export function createSecurity(parts: SessionParts) {
  const { limits } = parts
  async function findLeaving(request: FastifyRequest): Promise<void> {
    try {
      request.leaving = (await findLoginsOf(parts.database.db, request.headers, parts.clock()))[0]
    } catch {
      // The operation looks, too, and reports it.
    }
  }

  return (operationId: OperationId): onRequestHookHandler | onRequestAsyncHookHandler => {
    const scheme: Scheme = operations[operationId].security
    const cost = operations[operationId].cost.request
    if (operationId === 'logout') return findLeaving
    if (scheme === 'none') return (_request, _reply, next) => next()
    const { kind, missing, wrong } = schemes[scheme]
    const hasOwnRate = findsSessions.includes(operationId)
    // The interface fixes the order of its checks, so http/realtime.ts makes this one.
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
        // Another host of the domain may have set one of them, and nobody can tell which.
        if (!isOfOne)
          for (const { name, value, options } of clearedCookies(parts.config)) reply.setCookie(name, value, options)
        admit(request, isOfOne ? logins.find((login) => login.kind === kind) : undefined)
      })
      if (admitted instanceof Promise) admitted.then(() => next(), next)
      else next()
    }
  }
}

/**
 * False if X-User-ID names another user: somebody else has signed in since the caller last looked. A request may do
 * without the header. An empty one names nobody.
 */
export function actsFor(named: string | string[] | undefined, { userId }: Pick<Session, 'userId'>): boolean {
  return named === undefined || named === userId
}

/** True if the request presents a token of any of the kinds, right or wrong. */
export function sendsToken(headers: TokenHeaders, ...kinds: TokenKind[]): boolean {
  return kinds.some((kind) => sentValues(headers, kind).some((value) => value !== ''))
}

/** A program names its session in the Authorization header; whatever else has put a cookie beside it comes after. */
function sentValues({ cookie, authorization }: TokenHeaders, kind: TokenKind): string[] {
  const cookies = cookieValues(cookie, `service_${kind}`)
  // A proxy may have the header for itself, with another scheme.
  const [, token] = (kind === 'session' && authorization?.match(/^Bearer +(.*)/i)) || []
  return token === undefined ? cookies : [token, ...cookies]
}

/** All values of a cookie: a stale one from another domain or path may come first, so each is tried. */
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
 * All logins that valid tokens of the headers belong to, of each kind in the order in which they stand there. Looks them up
 * without a cache, so that signing out takes effect at once.
 */
export function findLoginsOf(db: Db, headers: TokenHeaders, now: number): ReturnType<typeof findSessions> {
  return findSessions(db, [...tokensOf(headers, 'session'), ...tokensOf(headers, 'refresh')], now)
}

/** All tokens that a head has: one that no sign-in has made must not hide the valid one. */
function tokensOf(headers: TokenHeaders, kind: TokenKind): SentToken[] {
  const tokens: SentToken[] = []
  for (const token of sentValues(headers, kind))
    if (/^[\w-]{43}$/.test(token)) tokens.push({ kind, hash: hash(token), userId: userOf(token) })
  return tokens
}

/**
 * A token is its user's id and 128 random bits, in base64url, so that it is looked up where the user's rows are. The
 * database holds only its SHA-256. It does not outlive `endsAt`.
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
 * Every write of a session asks this in its own transaction: the session was checked before the body arrived, and may have
 * been signed out since. From here on the login cannot end before the transaction does.
 *
 * @throws ServiceError InvalidSession
 */
export async function requireLogin(trx: Trx, login: LoginKey): Promise<void> {
  if (!(await holdLogin(trx, login))) throw new ServiceError('InvalidSession')
}

const hourMs = 3_600_000
/** If the process dies, the uses noted in this time (ms) are lost. */
const writeEveryMs = 30_000
/** Takes some 10 MiB. Beyond it, a login may be written more than once in an hour, which changes nothing. */
const maxNoted = 100_000
/** Few, so that they leave the database to users. */
const writesAtOnce = 4

/** The hour in which each login was last used. */
type SessionUses = ReturnType<typeof followUses>

interface UseParts {
  database: Pick<Database, 'write'>
  clock: () => number
  log: FastifyBaseLogger
}

/** Writes the first use of a login in each hour, some time after the request. */
export function followUses({ database, clock, log }: UseParts) {
  const noted = new Set<string>()
  const unwritten = new Map<string, { login: LoginKey; hour: number }>()
  let hour = 0
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    while (unwritten.size > 0) {
      const batch = [...unwritten].slice(0, writesAtOnce)
      // One row each: a transaction that held several could wait for one that ends them.
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
    /** Only remembers it: a request waits no longer for this. */
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

/** The beginning of a time's hour. */
export function hourOf(time: number): number {
  return time - (time % hourMs)
}
