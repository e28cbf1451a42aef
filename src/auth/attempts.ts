import type { LoginAttempt, Provider } from '../provider/provider.ts'
import type { Seal } from '../seal/seal.ts'
import { type Cookie, type CookieConfig, cookieValues, loginCookie, loginSeconds } from './cookies.ts'

/** A sign-in in progress. The browser that started it keeps it, so that a code from another browser signs nobody in. */
type Attempt = LoginAttempt & { expiresAt: number }

const binding = { purpose: 'login-attempts', userId: '', rowId: '' } as const
const maxAttempts = 4

export interface AttemptParts {
  config: CookieConfig
  seal: Seal
  provider: Pick<Provider, 'newAttempt'>
  clock: () => number
}

/** The attempt for a return URL. One in progress is reused, so that two tabs with the same URL do not interfere. */
export function startAttempt(
  parts: AttemptParts,
  cookieHeader: string | undefined,
  returnTo: string,
): { attempt: LoginAttempt; cookie: Cookie } {
  const expiresAt = parts.clock() + loginSeconds * 1000
  const attempts = readAttempts(parts, cookieHeader)
  const underWay = attempts.find((attempt) => attempt.returnTo === returnTo)
  const attempt: Attempt = underWay ? { ...underWay, expiresAt } : { ...parts.provider.newAttempt(returnTo), expiresAt }
  const others = attempts.filter((other) => other.returnTo !== returnTo)
  return {
    attempt,
    cookie: loginCookie(parts.config, sealAttempts(parts, [attempt, ...others.slice(0, maxAttempts - 1)])),
  }
}

/** Browsers drop cookies of more than 4,096 bytes, so the oldest attempts are removed if return URLs are long. */
function sealAttempts(parts: AttemptParts, attempts: Attempt[]): string {
  const sealed = parts.seal.seal(Buffer.from(JSON.stringify(attempts)), binding)
  return sealed.length <= 3800 || attempts.length === 1 ? sealed : sealAttempts(parts, attempts.slice(0, -1))
}

export function findAttempt(
  parts: AttemptParts,
  cookieHeader: string | undefined,
  returnTo: string,
): LoginAttempt | undefined {
  return readAttempts(parts, cookieHeader).find((attempt) => attempt.returnTo === returnTo)
}

/** Whether the browser says that it has any, right or wrong. */
export function hasAttempts(cookieHeader: string | undefined): boolean {
  return cookieValues(cookieHeader, 'service_login').some((value) => value !== '')
}

function readAttempts(
  { seal, clock }: Pick<AttemptParts, 'seal' | 'clock'>,
  cookieHeader: string | undefined,
): Attempt[] {
  const opened = cookieValues(cookieHeader, 'service_login').map((value) => seal.open(value, binding))
  const attempts = opened
    .filter((value) => value !== null)
    .flatMap((value) => JSON.parse(Buffer.from(value).toString()) as Attempt[])
  return attempts.filter((attempt) => attempt.expiresAt > clock())
}
