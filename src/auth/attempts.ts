import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import { type Cookie, cookieValues, loginCookie, loginSeconds } from './cookies.ts'
import type { LoginAttempt } from './provider.ts'

/** A sign-in under way: it lives in the browser that started it, so that a code from another browser logs nobody in. */
type Attempt = LoginAttempt & { expiresAt: number }

const binding = { purpose: 'login-attempts', userId: '', rowId: '' } as const
const mostAttempts = 4

type Sealing = Pick<Context, 'seal' | 'provider' | 'clock'> & { config: Config }

/** The attempt for a return URL: one under way is used again, so that two tabs with the same URL do not disturb each other. */
export function startAttempt(
  context: Sealing,
  cookieHeader: string | undefined,
  returnTo: string,
): { attempt: LoginAttempt; cookie: Cookie } {
  const expiresAt = context.clock() + loginSeconds * 1000
  const attempts = readAttempts(context, cookieHeader)
  const underWay = attempts.find((attempt) => attempt.returnTo === returnTo)
  const attempt: Attempt = underWay
    ? { ...underWay, expiresAt }
    : { ...context.provider.newAttempt(returnTo), expiresAt }
  const others = attempts.filter((other) => other.returnTo !== returnTo)
  return {
    attempt,
    cookie: loginCookie(context.config, sealAttempts(context, [attempt, ...others.slice(0, mostAttempts - 1)])),
  }
}

/** Browsers drop a cookie of more than 4,096 bytes: the oldest attempts give way to long return URLs. */
function sealAttempts(context: Sealing, attempts: Attempt[]): string {
  const sealed = context.seal.seal(Buffer.from(JSON.stringify(attempts)), binding)
  return sealed.length <= 3800 || attempts.length === 1 ? sealed : sealAttempts(context, attempts.slice(0, -1))
}

export function findAttempt(
  context: Sealing,
  cookieHeader: string | undefined,
  returnTo: string,
): LoginAttempt | undefined {
  return readAttempts(context, cookieHeader).find((attempt) => attempt.returnTo === returnTo)
}

function readAttempts({ seal, clock }: Sealing, cookieHeader: string | undefined): Attempt[] {
  const opened = cookieValues(cookieHeader, 'service_login').map((value) => seal.open(value, binding))
  const attempts = opened
    .filter((value) => value !== null)
    .flatMap((value) => JSON.parse(Buffer.from(value).toString()) as Attempt[])
  return attempts.filter((attempt) => attempt.expiresAt > clock())
}
