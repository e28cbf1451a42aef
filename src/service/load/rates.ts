import { ServiceError } from '../contract/errors.ts'
import { networkOf } from './addresses.ts'

/** Bytes received that count as one request. */
export const requestUnit = 64 * 1024
/** Sign-ins that a network may start (a quarter of the rate limit) and fail (a twentieth). Normal use stays below. */
const startsShare = 4
const failuresShare = 20
/** Each login has a twentieth of the limit to itself, to list sessions: a person must find one that is not theirs. */
const sessionsShare = 20

export type Limits = ReturnType<typeof createLimits>

/** The rate limits of users and networks. They apply per process. */
export function createLimits({ rateLimitPerMinute }: { rateLimitPerMinute: number }) {
  const perMinute = (share: number) => createBuckets(Math.max(1, Math.floor(rateLimitPerMinute / share)))
  const [users, starts] = [perMinute(1), perMinute(startsShare)]
  // Separate, so that wrong cookies from an address do not keep anyone there from signing in.
  const [wrongCookies, failedSignIns] = [perMinute(failuresShare), perMinute(failuresShare)]
  // Per login, because the session that the person wants to end may use up the user's limit.
  const logins = perMinute(sessionsShare)
  const refusals = { address: 0, user: 0 }

  function refuseIfEmpty(limit: keyof typeof refusals, waitMs: number | undefined): void {
    if (waitMs === undefined) return
    refusals[limit]++
    throw new ServiceError('TooManyRequests', { headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) } })
  }

  const countAddress = (buckets: Buckets) => (address: string) =>
    refuseIfEmpty('address', buckets.take(networkOf(address)))
  return {
    /** Counts a wrong cookie of an address. This and the next three throw TooManyRequests if nothing is left. */
    countWrongCookie: countAddress(wrongCookies),
    /** Counts a sign-in that an address starts. */
    countStart: countAddress(starts),
    /** Counts a sign-in of an address that failed. */
    countFailedSignIn: countAddress(failedSignIns),
    /** Counts a user's request by its cost. With `loginId`, refuses only if that login's own limit is used up, too. */
    countUser(userId: string, cost: number, loginId?: string): void {
      const waitMs = users.take(userId, cost)
      refuseIfEmpty('user', waitMs === undefined || loginId === undefined ? waitMs : logins.take(loginId))
    },
    /** Counts work that cannot be refused, even below zero. If nothing is left, returns the ms until something is. */
    spend: (userId: string, cost: number): number | undefined => users.spend(userId, cost),
    /** True if nothing is left of the user's limit: work that can wait should wait. */
    isUsedUp: (userId: string): boolean => users.waitOf(userId) !== undefined,
    /** Throws TooManyRequests if too many of the address's sign-ins have failed. */
    checkFailedSignIns: (address: string) => refuseIfEmpty('address', failedSignIns.waitOf(networkOf(address))),
    /** The number of refusals since the start, by limit. */
    refusals: () => refusals,
  }
}

const minuteMs = 60_000
/** A bucket may be overdrawn by this many minutes' tokens: large requests do not lock their user out for longer. */
const mostDebt = 10

type Buckets = ReturnType<typeof createBuckets>

/** Token buckets by key. Each has up to `most` tokens, refills in a minute, and allows work if a token is left. */
function createBuckets(most: number) {
  const buckets = new Map<string, { left: number; at: number }>()
  let sweepAt = 0

  function leftOf(key: string, now: number): number {
    const bucket = buckets.get(key)
    return bucket ? Math.min(most, bucket.left + (Math.max(0, now - bucket.at) * most) / minuteMs) : most
  }

  /** Removes full buckets once a minute, so that keys invented by callers are not kept for long. */
  function sweep(now: number): void {
    if (now < sweepAt) return
    sweepAt = now + minuteMs
    for (const key of buckets.keys()) if (leftOf(key, now) === most) buckets.delete(key)
  }

  function waitOf(key: string, now = performance.now()): number | undefined {
    const left = leftOf(key, now)
    return left < 1 ? ((1 - left) * minuteMs) / most : undefined
  }

  function spend(key: string, cost: number): number | undefined {
    const now = performance.now()
    sweep(now)
    buckets.set(key, { left: Math.max(leftOf(key, now) - cost, -mostDebt * most), at: now })
    return waitOf(key, now)
  }

  return {
    waitOf,
    spend,
    /** Spends if a token is left. Otherwise returns the time until there is one (ms). */
    take(key: string, cost = 1): number | undefined {
      const waitMs = waitOf(key)
      if (waitMs === undefined) spend(key, cost)
      return waitMs
    },
  }
}
