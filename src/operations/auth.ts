import { findAttempt, startAttempt } from '../auth/attempts.ts'
import { clearedCookies, refreshCookie, sessionCookie } from '../auth/cookies.ts'
import { ProviderRefusedError, ProviderUnavailableError } from '../auth/provider.ts'
import { refreshLogin } from '../auth/refresh.ts'
import { parseReturnTo, redirectTarget } from '../auth/return-to.ts'
import { signIn } from '../auth/sign-in.ts'
import { signOut } from '../auth/sign-out.ts'
import type { Context } from '../context.ts'
import type { OperationRequest, Operations } from '../contract.ts'
import { ServiceError } from '../errors.ts'

/** Nothing was under way in this browser for what came back. */
class UnknownAttemptError extends Error {}

export const authOperations: Operations<'startLogin' | 'completeLogin' | 'logout' | 'getSession' | 'refreshSession'> = {
  async startLogin({ cookie, body }, context) {
    const returnTo = parseReturnTo(body.returnTo, context.config.origins)
    if (returnTo === null) throw new ServiceError('InvalidReturnTo')
    const started = startAttempt(context, cookie, returnTo)
    try {
      const authorizationUrl = await context.provider.authorizationUrl(started.attempt, body.prompt)
      return { status: 200, body: { authorizationUrl }, cookies: [started.cookie] }
    } catch (cause) {
      throw new ServiceError('LoginNotStarted', { cause })
    }
  },

  async completeLogin(request, context) {
    const { config, limits } = context
    try {
      const { returnTo, tokens } = await complete(request, context)
      return {
        status: 302,
        headers: { location: redirectTarget(returnTo, config.appUrl) },
        cookies: [sessionCookie(config, tokens.session), refreshCookie(config, tokens.refresh)],
      }
    } catch (error) {
      request.log.warn({ err: error }, 'a login failed')
      await limits.countFailure(request.address)
      const location = redirectTarget(`/login?error=${encodeURIComponent(failureMessage(error))}`, config.appUrl)
      return { status: 302, headers: { location } }
    }
  },

  async logout({ cookie, log }, context) {
    try {
      await signOut(context, cookie, log)
    } catch (cause) {
      throw new ServiceError('LogoutFailed', { cause })
    }
    return { status: 200, body: { success: true }, cookies: clearedCookies(context.config) }
  },

  async getSession({ session }) {
    if (!session) return { status: 401, body: { authenticated: false } }
    const { userId: user_id, email, name, avatar_url, email_verified } = session
    const user = { user_id, email, name, avatar_url, email_verified: email_verified === 1 }
    return { status: 200, body: { authenticated: true, user } }
  },

  async refreshSession({ session }, context) {
    const token = await refreshLogin(context, session)
    return { status: 200, body: { success: true }, cookies: [sessionCookie(context.config, token)] }
  },
}

/** In the interface's order: the exchange, the user's row, then (by the caller) the cookies and the redirect. */
async function complete({ cookie, query, isMalformed }: OperationRequest<'completeLogin'>, context: Context) {
  const returnTo = isMalformed ? null : parseReturnTo(query.state, context.config.origins)
  const attempt = returnTo === query.state ? findAttempt(context, cookie, returnTo) : undefined
  if (!attempt) throw new UnknownAttemptError('the browser has no sign-in under way for this state')
  const callback = new URLSearchParams(
    Object.entries(query).filter(([name]) => ['code', 'state', 'iss', 'error'].includes(name)) as string[][],
  )
  const { identity, refreshToken } = await context.provider.exchangeCode(callback, attempt)
  return { returnTo: attempt.returnTo, tokens: await signIn(context, identity, refreshToken) }
}

/** The contract lists these; nothing of the provider's own text reaches the page. */
function failureMessage(error: unknown): string {
  if (error instanceof UnknownAttemptError) return 'Login expired or was started in another browser'
  if (error instanceof ProviderRefusedError) return 'Login was refused by the identity provider'
  if (error instanceof ProviderUnavailableError) return 'Identity provider is not available'
  return 'Login failed'
}
