import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { ServiceError } from '../contract/errors.ts'

/**
 * So many bytes from a client count as a request. Stored as small changes, they take about as long as ten small requests; a
 * first sync is some hundred of them.
 */
export const requestUnit = 64 * 1024
/** So long may the work for a request take. What is quicker leaves the rest to others of the minute. */
const workUnitMs = 12
/** Also where the operator allows few requests: the first of a process take longer. */
const leastWorkMs = 1000
/** A person starts a sign-in once in days. A network behind one address reaches this only if it does nothing else. */
const startsShare = 4
const failuresShare = 20
/** By a few requests a person sees a session that is not theirs, and ends it. */
const sessionsShare = 20

export type Limits = ReturnType<typeof createLimits>

/**
 * Requests per minute, and milliseconds of the event loop and the database: of each user, and those that count for an address.
 * They apply to one process.
 */
export function createLimits({ rateLimitPerMinute }: { rateLimitPerMinute: number }) {
  const perMinute = (share: number) => createWindows(Math.max(1, Math.floor(rateLimitPerMinute / share)))
  const [users, starts] = [perMinute(1), perMinute(startsShare)]
  const work = createWindows(Math.max(leastWorkMs, rateLimitPerMinute * workUnitMs))
  // Apart, so that wrong cookies from an address keep nobody there from signing in.
  const [wrongCookies, failedSignIns] = [perMinute(failuresShare), perMinute(failuresShare)]
  // Apart, so that whoever takes all of a user's rate keeps nobody from ending that session.
  const ofLogins = perMinute(sessionsShare)
  const refusals = { address: 0, user: 0 }

  function demandRest(limit: keyof typeof refusals, leftMs: number | undefined): void {
    if (leftMs === undefined) return
    refusals[limit]++
    const seconds = Math.max(1, Math.ceil(leftMs / 1000))
    throw new ServiceError('TooManyRequests', { headers: { 'retry-after': String(seconds) } })
  }

  const countAddress = (windows: ReturnType<typeof createWindows>) => (address: string) =>
    demandRest('address', windows.take(networkOf(address)))
  return {
    /** Counts a wrong cookie of an address. This one and the next three throw TooManyRequests if there are too many. */
    countWrongCookie: countAddress(wrongCookies),
    /** Counts a sign-in that an address starts. */
    countStart: countAddress(starts),
    /** Counts a sign-in of an address that failed. */
    countFailedSignIn: countAddress(failedSignIns),
    /** Counts a user's request or socket message. With a login, that has a rate of its own for when there is nothing left. */
    countUser(userId: string, loginId?: string): void {
      const wait = work.usedUp(userId) ?? users.take(userId)
      if (wait === undefined || loginId === undefined) demandRest('user', wait)
      else demandRest('user', ofLogins.take(loginId))
    },
    /**
     * Counts what a user's request cost beyond one request, or what a socket of theirs sent. It throws nothing, and what
     * the user does next is refused: returns for how many ms, if there were too many.
     */
    chargeUser: (userId: string, requests: number) => users.add(userId, requests),
    /** Does so with the milliseconds that were worked for a user. */
    chargeWork: (userId: string, ms: number) => work.add(userId, ms),
    /** True if nothing is left of them: work that can wait does. */
    isUsedUp: (userId: string) => work.usedUp(userId) !== undefined,
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

/** A single request cannot shut its user out for longer. */
const mostDebt = 10

/**
 * Counts by key in windows of a minute, each of which begins with its key's first count. What was counted beyond the limit is
 * a debt, with which the next windows begin. What is refused is not counted.
 */
function createWindows(most: number) {
  const windows = new Map<string, { used: number; endsAt: number }>()
  let sweepAt = 0

  /** Undefined if nothing is left of what was counted. */
  function windowOf(key: string, now: number) {
    const window = windows.get(key)
    if (!window || window.endsAt > now) return window
    const over = 1 + Math.floor((now - window.endsAt) / windowMs)
    window.used -= over * most
    window.endsAt += over * windowMs
    if (window.used > 0) return window
    windows.delete(key)
    return undefined
  }

  /** Paid sums are removed once in a minute, so what callers make up is not kept for long. */
  function sweep(now: number): void {
    if (now < sweepAt) return
    sweepAt = now + windowMs
    for (const key of windows.keys()) windowOf(key, now)
  }

  function count(key: string, amount: number, now: number) {
    sweep(now)
    const window = windowOf(key, now) ?? { used: 0, endsAt: now + windowMs }
    window.used = Math.min(window.used + amount, most * (1 + mostDebt))
    windows.set(key, window)
    return window
  }

  /** How many ms until something is left to count. */
  function waitOf(key: string, now: number): number | undefined {
    const { used, endsAt } = windowOf(key, now) ?? { used: 0, endsAt: 0 }
    return used >= most ? endsAt - now + Math.floor(used / most - 1) * windowMs : undefined
  }

  return {
    /** Counts one if there is one left; if not, it returns in how many ms. */
    take(key: string): number | undefined {
      const now = performance.now()
      const wait = waitOf(key, now)
      if (wait === undefined) count(key, 1, now)
      return wait
    },
    /** Counts what cannot be refused any more; returns in how many ms something is left, if that was more than there was. */
    add(key: string, amount: number): number | undefined {
      const now = performance.now()
      return count(key, amount, now).used > most ? waitOf(key, now) : undefined
    },
    /** In how many ms something is left, if nothing is. */
    usedUp: (key: string) => waitOf(key, performance.now()),
  }
}
