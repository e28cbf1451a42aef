import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/engine/database.ts'
import {
  dropProviderToken,
  endLogin,
  holdLogin,
  type LoginKey,
  leaseProviderToken,
  limitSessions,
  ownerOfLogins,
  releaseProviderToken,
  saveProviderAnswer,
} from '../db/tables/logins.ts'
import { dropOldestSessions, type Session, shortenSessions } from '../db/tables/tokens.ts'
import type { Notices } from '../notices/notices.ts'
import { isSameIssuer } from '../provider/issuer.ts'
import {
  InvalidGrantError,
  type Provider,
  ProviderError,
  ProviderRefusedError,
  refreshMs,
} from '../provider/provider.ts'
import type { Seal } from '../seal/seal.ts'
import { issueToken } from './sessions.ts'

/** Tokens older than this (ms) expire this long after a refresh. Newer ones stay, for tabs that refresh together. */
const graceMs = 60_000
/** How long (ms) a request leases the provider's token: until the provider answers or times out, plus 5 s to store. */
const leaseMs = refreshMs + 5_000
/** How long a login lasts (ms) after the provider can no longer be asked, or refuses to answer. */
const uncheckedMs = 86_400_000

export interface RefreshParts {
  database: Pick<Database, 'write' | 'now'>
  seal: Seal
  provider: Pick<Provider, 'issuer' | 'refresh'>
  notices: Pick<Notices, 'publishEnd'>
  clock: () => number
}

type Lease = NonNullable<Awaited<ReturnType<typeof leaseProviderToken>>>

/** Issues a session token. First asks the provider whether the login goes on, if that is due (`leaseProviderToken`). */
export async function refreshLogin(parts: RefreshParts, { userId, loginId }: Session): Promise<string> {
  const { database, clock } = parts
  const login = { userId, loginId }
  const owner = ownerOfLogins(login)
  const lease = await database.write((trx) => leaseProviderToken(trx, login, clock(), database.now, leaseMs), owner)
  if (lease) await askProvider(parts, login, lease)
  const now = clock()
  return database.write(async (trx) => {
    const found = await holdLogin(trx, login)
    if (!found) throw new ServiceError('RefreshFailed')
    // The provider has refused for a day, and another request is just asking it again.
    if (found.ends_at !== null && found.ends_at <= now) throw tryLater()
    await shortenSessions(trx, login, now - graceMs, now + graceMs)
    await dropOldestSessions(trx, login)
    return issueToken(trx, 'session', login, now, found.ends_at)
  }, owner)
}

/** Calls the provider without a lock or transaction. The lease keeps other requests from using the same token. */
async function askProvider(parts: RefreshParts, login: LoginKey, lease: Lease): Promise<void> {
  const { userId, loginId } = login
  const { database, provider, seal, clock, notices } = parts
  const owner = ownerOfLogins(login)
  const binding = { purpose: 'provider-token', userId, rowId: loginId } as const
  const end = async (cause?: ProviderError) => {
    await database.write((trx) => endLogin(trx, login), owner)
    notices.publishEnd(login)
    return new ServiceError('RefreshFailed', { cause })
  }
  const endsAt = Math.min(lease.ends_at ?? Number.POSITIVE_INFINITY, clock() + uncheckedMs)
  const isOver = endsAt <= clock()
  const stopAsking = async (cause?: ProviderError) => {
    if (isOver) throw await end(cause)
    await database.write((trx) => dropProviderToken(trx, login, endsAt), owner)
  }
  // The token of another provider must not be sent to this one.
  if (!isSameIssuer(provider.issuer, lease.issuer)) return stopAsking()
  const opened = seal.open(lease.sealed, binding)
  if (opened === null) return stopAsking()
  const token = Buffer.from(opened).toString()
  const answer = await provider.refresh(token, lease.subject).catch(async (error: unknown) => {
    if (error instanceof InvalidGrantError) return error
    const isRefusal = error instanceof ProviderRefusedError
    if (isRefusal && isOver) throw await end(error)
    const unanswered = lease.unanswered || !(error instanceof ProviderError) || error.mayHaveActed
    await database.write(async (trx) => {
      await releaseProviderToken(trx, login, unanswered)
      if (isRefusal) await limitSessions(trx, login, endsAt)
    }, owner)
    throw tryLater(error)
  })
  if (!(answer instanceof InvalidGrantError)) {
    const sealed = seal.seal(Buffer.from(answer.refreshToken ?? token), binding)
    return database.write((trx) => saveProviderAnswer(trx, login, sealed, clock()), owner)
  }
  // A new token may have been lost on its way here and replaced this one. So the login does not end at once.
  if (lease.unanswered) return stopAsking(answer)
  throw await end(answer)
}

function tryLater(cause?: unknown): ServiceError {
  return new ServiceError('Unavailable', { cause, headers: { 'retry-after': '10' } })
}
