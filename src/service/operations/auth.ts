import { loginFailures } from '../../../generated/login-failures.ts'
import { NotAllowedError, requireAllowed, requireMoved, UnmovedError } from '../auth/access.ts'
import { type AttemptParts, findAttempts, startAttempt } from '../auth/attempts.ts'
import { findAuthenticatedAt, NotReauthenticatedError } from '../auth/authentication.ts'
import { clearedCookies, cookie, loginCookieName } from '../auth/cookies.ts'
import { recentMsLeft } from '../auth/recent-sign-in.ts'
import { type RefreshParts, refreshLogin } from '../auth/refresh.ts'
import { isProgram, parseReturnTo, redirectTarget } from '../auth/return-to.ts'
import { cookieValues, findLoginsOf, sendsToken } from '../auth/sessions.ts'
import { ClosedError, DisabledUserError, type SignInParts, signIn, UsedAttemptError } from '../auth/sign-in.ts'
import { type SignOutParts, signOut } from '../auth/sign-out.ts'
import type { Access } from '../config/access.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/engine/database.ts'
import { findKeyring } from '../db/tables/keyrings.ts'
import { findAuthentication } from '../db/tables/logins.ts'
import { type Provider, ProviderRefusedError, ProviderUnavailableError } from '../provider/provider.ts'
import { findSessionUser } from './account.ts'
import { done, type OperationRequest, type Operations } from './operation.ts'

/** The callback does not belong to a sign-in in progress in this browser. */
class UnknownAttemptError extends Error {}

type Parts = AttemptParts &
  SignInParts &
  SignOutParts &
  RefreshParts & {
    database: Pick<Database, 'db' | 'write'>
    config: { origins: ReadonlySet<string>; appUrl: string | undefined; access: Access }
    provider: Pick<Provider, 'authorizationUrl' | 'exchangeCode'>
    metrics: { countSignIn(outcome: keyof typeof loginFailures | 'completed'): void }
    limits: Record<
      'checkFailedSignIns' | 'countFailedSignIn' | 'countStart' | 'countWrongCookie',
      (address: string) => void
    >
  }

export const authOperations: Operations<
  'startLogin' | 'completeLogin' | 'logout' | 'getSession' | 'refreshSession',
  Parts
> = {
  async startLogin({ cookie, body, address }, parts) {
    parts.limits.countStart(address)
    const returnTo = parseReturnTo(body.returnTo, parts.config.origins)
    if (returnTo === null) throw new ServiceError('InvalidReturnTo')
    // Otherwise, while the provider remembers the user, any program on their machine could sign in as them unnoticed.
    const demandsNewSignIn = isProgram(returnTo, parts.config.origins)
    const started = await startAttempt(parts, cookie, { returnTo, demandsNewSignIn, prompt: body.prompt })
    try {
      const authorizationUrl = await parts.provider.authorizationUrl(started.attempt, body.prompt)
      return { status: 200, body: { authorizationUrl }, cookies: [started.cookie] }
    } catch (cause) {
      throw new ServiceError('LoginNotStarted', { cause })
    }
  },

  async completeLogin(request, parts) {
    const { config, limits, metrics } = parts
    const isPresent = cookieValues(request.cookie, loginCookieName(config)).some((value) => value !== '')
    // Each failed sign-in may have cost a call to the provider.
    if (isPresent) limits.checkFailedSignIns(request.address)
    try {
      const { returnTo, tokens } = await complete(request, parts)
      if (tokens === undefined) return { status: 302, headers: { location: returnTo } }
      metrics.countSignIn('completed')
      return {
        status: 302,
        headers: { location: redirectTarget(returnTo, config.appUrl) },
        cookies: [cookie(config, 'service_session', tokens.session), cookie(config, 'service_refresh', tokens.refresh)],
      }
    } catch (error) {
      request.log.warn({ err: error }, 'a sign-in failed')
      if (isPresent && isWrong(error)) limits.countFailedSignIn(request.address)
      const failure = failureOf(error)
      metrics.countSignIn(failure)
      const location = redirectTarget(`/login?error=${encodeURIComponent(loginFailures[failure])}`, config.appUrl)
      return { status: 302, headers: { location } }
    }
  },

  async logout({ cookie, authorization, userId, address, log }, parts) {
    const headers = { cookie, authorization }
    const isSignedOut = await signOut(parts, headers, userId, log).catch((cause) => {
      throw cause instanceof ServiceError ? cause : new ServiceError('LogoutFailed', { cause })
    })
    const isWrong = !isSignedOut && sendsToken(headers, 'session', 'refresh')
    if (isWrong) parts.limits.countWrongCookie(address)
    return { status: 200, body: done, cookies: clearedCookies(parts.config) }
  },

  async getSession({ session, cookie, authorization }, { database: { db }, clock }) {
    const user = session && (await findSessionUser(db, session.userId))
    const authenticated_at = session && (await findAuthentication(db, session))
    if (user && authenticated_at !== undefined) {
      const has_keyring = (await findKeyring(db, session.userId)) !== undefined
      const recent_sign_in_seconds_left = Math.floor(recentMsLeft(authenticated_at, clock()) / 1000)
      return {
        status: 200,
        body: { authenticated: true, user, has_keyring, authenticated_at, recent_sign_in_seconds_left },
      }
    }
    const isSent = sendsToken({ cookie, authorization }, 'session')
    const { code, headers } = new ServiceError(isSent ? 'InvalidSession' : 'AuthenticationRequired')
    return { status: 401, headers: { ...headers, 'x-error-code': code }, body: { authenticated: false } }
  },

  async refreshSession({ session }, parts) {
    const token = await refreshLogin(parts, session)
    return { status: 200, body: done, cookies: [cookie(parts.config, 'service_session', token)] }
  },
}

/**
 * Completes a sign-in in the contract's order: the exchange, the operator's rules, the user's row, then (in the caller)
 * cookies and redirect. Returns no tokens if a program on the user's machine started the sign-in, because the program
 * completes it itself.
 */
async function complete(request: OperationRequest<'completeLogin'>, parts: Parts) {
  const { cookie, query, isMalformed, userAgent } = request
  const returnTo = isMalformed ? null : parseReturnTo(query.state, parts.config.origins)
  const [newest, ...others] = returnTo === query.state ? await findAttempts(parts, cookie, returnTo) : []
  const callback = new URLSearchParams(
    Object.entries(query).filter(([name]) => ['code', 'state', 'iss', 'error'].includes(name)) as [string, string][],
  )
  if (!newest) {
    if (returnTo === query.state && isProgram(returnTo, parts.config.origins))
      return { returnTo: withQuery(returnTo, callback), tokens: undefined }
    throw new UnknownAttemptError('the browser has no sign-in in progress for this state')
  }
  const { attempt, ...exchanged } = await parts.provider.exchangeCode(callback, newest, ...others)
  // Comes before the rules: a person whom they refused tries again with `prompt=login`, and learns if that was ignored.
  const authenticatedAt = await findAuthenticatedAt(parts, exchanged, attempt)
  requireAllowed(parts.config.access, exchanged)
  await requireMoved(parts.database.db, exchanged.identity)
  const replaced = await findLoginsOf(parts.database.db, { cookie }, parts.clock())
  const tokens = await signIn(parts, { ...exchanged, authenticatedAt }, attempt, userAgent, replaced)
  return { returnTo: attempt.returnTo, tokens }
}

function withQuery(url: string, parameters: URLSearchParams): string {
  const target = new URL(url)
  for (const [name, value] of parameters) target.searchParams.append(name, value)
  return target.href
}

/** True if the failure counts against the address. A provider that is down must not lock anybody out. */
function isWrong(error: unknown): boolean {
  return [UnknownAttemptError, UsedAttemptError, ProviderRefusedError].some((wrong) => error instanceof wrong)
}

/** The contract's failure for the error. The provider's own text never reaches the page. */
function failureOf(error: unknown): keyof typeof loginFailures {
  if (error instanceof UnknownAttemptError || error instanceof UsedAttemptError) return 'expired'
  if (error instanceof NotReauthenticatedError) return 'unasked'
  if (error instanceof DisabledUserError) return 'disabled'
  if (error instanceof NotAllowedError) return 'forbidden'
  if (error instanceof ClosedError) return 'closed'
  if (error instanceof UnmovedError) return 'unmoved'
  if (error instanceof ProviderRefusedError) return 'refused'
  if (error instanceof ProviderUnavailableError) return 'unavailable'
  return 'failed'
}
