import type { Database } from '../db/engine/database.ts'
import { findUsedNonces } from '../db/tables/nonces.ts'
import type { LoginAttempt, Provider } from '../provider/provider.ts'
import type { Seal } from '../seal/seal.ts'
import { type Cookie, type CookieConfig, cookie, loginCookieName, loginSeconds } from './cookies.ts'
import { cookieValues } from './sessions.ts'

/** A sign-in in progress. Only the browser that started it stores it, so no other browser can complete it. */
export interface Attempt extends LoginAttempt {
  verifierAt: number
  /** True if the provider had to ask the person for credentials (`prompt=login`). */
  isAsked?: boolean
  expiresAt: number
}

const binding = { purpose: 'login-attempts', userId: '', rowId: '' } as const
const maxAttempts = 4
/** A browser may open further tabs for the same URL within this time (ms) of the first. Up to four can sign in. */
const tabsMs = 60_000

export interface AttemptParts {
  config: CookieConfig
  database: Pick<Database, 'db'>
  seal: Seal
  provider: Pick<Provider, 'newAttempt'>
  clock: () => number
}

export interface Start {
  returnTo: string
  /** True if the user must sign in again, whatever the provider remembers. */
  demandsNewSignIn: boolean
  prompt?: 'login' | 'select_account' | undefined
}

/**
 * Makes an attempt with its own nonce. Tabs with the same return URL get the same `state`, and only the nonce in the ID
 * token tells them apart. The code verifier is needed before the ID token is there, so tabs opened within a minute
 * share it. Replaces older attempts for the same URL.
 */
export async function startAttempt(
  parts: AttemptParts,
  cookieHeader: string | undefined,
  { returnTo, demandsNewSignIn, prompt }: Start,
): Promise<{ attempt: Attempt; cookie: Cookie }> {
  const now = parts.clock()
  const attempts = readAttempts(parts, cookieHeader)
  const recent = attempts.filter(({ verifierAt }) => now - verifierAt < tabsMs)
  const tabs = await unused(parts, recent, returnTo)
  const { codeVerifier, verifierAt } = tabs[0] ?? { verifierAt: now }
  const fresh = parts.provider.newAttempt(returnTo)
  const attempt = {
    ...fresh,
    codeVerifier: codeVerifier ?? fresh.codeVerifier,
    verifierAt,
    expiresAt: now + loginSeconds * 1000,
    ...(demandsNewSignIn && { newSignInSince: now }),
    ...(prompt === 'login' && { isAsked: true }),
  }
  const others = attempts.filter((other) => other.returnTo !== returnTo || tabs.includes(other))
  return {
    attempt,
    cookie: cookie(
      parts.config,
      loginCookieName(parts.config),
      sealAttempts(parts, [attempt, ...others.slice(0, maxAttempts - 1)]),
    ),
  }
}

/** Browsers drop cookies of more than 4,096 bytes, so long return URLs push out the oldest attempts. */
function sealAttempts(parts: AttemptParts, attempts: Attempt[]): string {
  const sealed = parts.seal.seal(Buffer.from(JSON.stringify(attempts)), binding)
  return sealed.length <= 3800 || attempts.length === 1 ? sealed : sealAttempts(parts, attempts.slice(0, -1))
}

/** The browser's attempts for a return URL, without completed ones, which may still be in its cookie. */
export async function findAttempts(
  parts: AttemptParts,
  cookieHeader: string | undefined,
  returnTo: string,
): Promise<Attempt[]> {
  return unused(parts, readAttempts(parts, cookieHeader), returnTo)
}

async function unused({ database }: AttemptParts, attempts: Attempt[], returnTo: string): Promise<Attempt[]> {
  const ofUrl = attempts.filter((attempt) => attempt.returnTo === returnTo)
  if (ofUrl.length === 0) return []
  const nonces = ofUrl.map(({ nonce }) => nonce)
  const used = await findUsedNonces(database.db, nonces)
  return ofUrl.filter(({ nonce }) => !used.has(nonce))
}

/** Two cookies with this name mean that another host of the domain may have set one, so neither is used. */
function readAttempts({ config, seal, clock }: AttemptParts, cookieHeader: string | undefined): Attempt[] {
  const [value, another] = cookieValues(cookieHeader, loginCookieName(config))
  const opened = value === undefined || another !== undefined ? null : seal.open(value, binding)
  if (opened === null) return []
  const attempts = JSON.parse(Buffer.from(opened).toString()) as Attempt[]
  return attempts.filter((attempt) => attempt.expiresAt > clock())
}
