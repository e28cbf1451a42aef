import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { ServiceError } from '../contract/errors.ts'

/**
 * So many bytes from a client count as a request. Stored as small changes, they take about as long as ten small requests; a
 * first sync is some hundred of them.
 */
export const requestUnit = 64 * 1024
/** A person starts a sign-in once in days. A network behind one address reaches this only if it does nothing else. */
const startsShare = 4
const failuresShare = 20

export type Limits = ReturnType<typeof createLimits>

/** Requests per minute: of each user, and those that count for an address. They apply to one process. */
export function createLimits({ rateLimitPerMinute }: { rateLimitPerMinute: number }) {
  const perMinute = (share: number) => createWindows(Math.max(1, Math.floor(rateLimitPerMinute / share)))
  const [users, starts] = [perMinute(1), perMinute(startsShare)]
  // Apart, so that wrong cookies from an address keep nobody there from signing in.
  const [wrongCookies, failedSignIns] = [perMinute(failuresShare), perMinute(failuresShare)]
  const refusals = { address: 0, user: 0 }

  function demandRest(limit: keyof typeof refusals, leftMs: number | undefined): void {
    if (leftMs === undefined) return
    refusals[limit]++
    const seconds = Math.max(1, Math.ceil(leftMs / 1000))
    throw new ServiceError('TooManyRequests', { headers: { 'retry-after': String(seconds) } })
  }

  const countAddress = (windows: ReturnType<typeof createWindows>) => (address: string) =>
    demandRest('address', windows.count(networkOf(address)))
  return {
    /** Counts a wrong cookie of an address. This one and the next three throw TooManyRequests if there are too many. */
    countWrongCookie: countAddress(wrongCookies),
    /** Counts a sign-in that an address starts. */
    countStart: countAddress(starts),
    /** Counts a sign-in of an address that failed. */
    countFailedSignIn: countAddress(failedSignIns),
    /** Counts a user's request or socket message. */
    countUser: (userId: string) => demandRest('user', users.count(userId)),
    /**
     * Counts what a user's request cost beyond one request, or what a socket of theirs sent. It throws nothing, and what
     * the user does next is refused: returns for how many ms, if there were too many.
     */
    chargeUser: (userId: string, requests: number) => users.count(userId, requests),
    /** Throws TooManyRequests if too many of the address's sign-ins have failed. */
    checkFailedSignIns: (address: string) => demandRest('address', failedSignIns.usedUp(networkOf(address))),
    /** How many have been refused since the start, by limit. */
    refusals: () => refusals,
  }
}

/** With IPv6, one subscriber has a whole /64. */
export function networkOf(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv6' ? parsed.toByteArray().slice(0, 8).join('.') : parsed.toString()
}

const windowMs = 60_000

/** Counts by key in windows of a minute, each of which begins with its key's first count. */
function createWindows(most: number) {
  const windows = new Map<string, { used: number; endsAt: number }>()
  let sweepAt = 0

  /** Windows that are over are removed once in a minute, so what callers make up is not kept for long. */
  function sweep(now: number): void {
    if (now < sweepAt) return
    sweepAt = now + windowMs
    for (const [key, { endsAt }] of windows) if (endsAt <= now) windows.delete(key)
  }

  return {
    /** Counts, and returns how many ms are left of the window if that was more than allowed. */
    count(key: string, amount = 1): number | undefined {
      const now = performance.now()
      let window = windows.get(key)
      if (!window || window.endsAt <= now) {
        sweep(now)
        window = { used: 0, endsAt: now + windowMs }
        windows.set(key, window)
      }
      window.used += amount
      return window.used > most ? window.endsAt - now : undefined
    },
    /** How many ms are left of the window if nothing is left to count in it. */
    usedUp(key: string): number | undefined {
      const { used, endsAt } = windows.get(key) ?? { used: 0, endsAt: 0 }
      const left = endsAt - performance.now()
      return left > 0 && used >= most ? left : undefined
    },
  }
}
