import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { ServiceError } from '../contract/errors.ts'

/** Requests a minute: each user's, and each address's that keep failing to sign in. They hold for one process. */
export interface Limits {
  /** Throws TooManyRequests when the address has used up its failures. */
  checkAddress(address: string): Promise<void>
  countFailure(address: string): Promise<void>
  /** Counts a request or a socket's message of a user; throws TooManyRequests when there are too many. */
  countUser(userId: string): Promise<void>
  /** How many were refused since the start. */
  refusals(): Record<'address' | 'user', number>
}

export function createLimits({ rateLimitPerMinute }: { rateLimitPerMinute: number }): Limits {
  const addresses = new RateLimiterMemory({ points: Math.max(1, Math.floor(rateLimitPerMinute / 20)), duration: 60 })
  const users = new RateLimiterMemory({ points: rateLimitPerMinute, duration: 60 })
  const refusals = { address: 0, user: 0 }
  const refuse = (limit: keyof typeof refusals, used: RateLimiterRes) => {
    refusals[limit]++
    return tooManyRequests(used)
  }
  return {
    async checkAddress(address) {
      const used = await addresses.get(networkOf(address))
      if (used !== null && used.remainingPoints <= 0) throw refuse('address', used)
    },
    async countFailure(address) {
      await addresses.consume(networkOf(address)).catch(ignoreUsedUp)
    },
    async countUser(userId) {
      await users.consume(userId).catch((used: unknown) => {
        throw used instanceof RateLimiterRes ? refuse('user', used) : used
      })
    },
    refusals: () => refusals,
  }
}

function tooManyRequests(used: RateLimiterRes): ServiceError {
  return new ServiceError('TooManyRequests', {
    headers: { 'retry-after': String(Math.max(1, Math.ceil(used.msBeforeNext / 1000))) },
  })
}

function ignoreUsedUp(used: unknown): void {
  if (!(used instanceof RateLimiterRes)) throw used
}

/** One subscriber holds a whole /64 of IPv6. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv6' ? parsed.toByteArray().slice(0, 8).join('.') : parsed.toString()
}
