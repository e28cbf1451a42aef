import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { ServiceError } from '../contract/errors.ts'

/** A person starts a sign-in once in days. A network behind one address reaches this only if it does nothing else. */
const startsShare = 4
const failuresShare = 20

/** Requests per minute: of each user, and what is counted for each address. They apply to one process. */
export interface Limits {
  /** Each counts one, and throws TooManyRequests if there are too many: a wrong cookie of an address, */
  countWrongCookie(address: string): Promise<void>
  /** a sign-in that an address starts, */
  countStart(address: string): Promise<void>
  /** a sign-in that failed, */
  countFailedSignIn(address: string): Promise<void>
  /** a user's request or socket message. */
  countUser(userId: string): Promise<void>
  /** Counts what a user's request cost beyond one request. It throws nothing; what the user does next is refused. */
  chargeUser(userId: string, requests: number): Promise<void>
  /** Throws TooManyRequests if too many of the address's sign-ins have failed. */
  checkFailedSignIns(address: string): Promise<void>
  /** How many have been refused since the start, by limit. */
  refusals(): Record<'address' | 'user', number>
}

export function createLimits({ rateLimitPerMinute }: { rateLimitPerMinute: number }): Limits {
  const perMinute = (share: number) =>
    new RateLimiterMemory({ points: Math.max(1, Math.floor(rateLimitPerMinute / share)), duration: 60 })
  const [users, starts] = [perMinute(1), perMinute(startsShare)]
  // Apart, so that wrong cookies from an address keep nobody there from signing in.
  const [wrongCookies, failedSignIns] = [perMinute(failuresShare), perMinute(failuresShare)]
  const refusals = { address: 0, user: 0 }
  const refuse = (limit: keyof typeof refusals, used: RateLimiterRes) => {
    refusals[limit]++
    return tooManyRequests(used)
  }
  const consume = async (limiter: RateLimiterMemory, key: string, limit: keyof typeof refusals) => {
    await limiter.consume(key).catch((used: unknown) => {
      throw used instanceof RateLimiterRes ? refuse(limit, used) : used
    })
  }
  return {
    countWrongCookie: (address) => consume(wrongCookies, networkOf(address), 'address'),
    countStart: (address) => consume(starts, networkOf(address), 'address'),
    countFailedSignIn: (address) => consume(failedSignIns, networkOf(address), 'address'),
    countUser: (userId) => consume(users, userId, 'user'),
    async chargeUser(userId, requests) {
      await users.penalty(userId, requests)
    },
    async checkFailedSignIns(address) {
      const used = await failedSignIns.get(networkOf(address))
      if (used !== null && used.remainingPoints <= 0) throw refuse('address', used)
    },
    refusals: () => refusals,
  }
}

function tooManyRequests(used: RateLimiterRes): ServiceError {
  return new ServiceError('TooManyRequests', {
    headers: { 'retry-after': String(Math.max(1, Math.ceil(used.msBeforeNext / 1000))) },
  })
}

/** With IPv6, one subscriber has a whole /64. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv6' ? parsed.toByteArray().slice(0, 8).join('.') : parsed.toString()
}
