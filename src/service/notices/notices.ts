import type { LoginKey } from '../db/tables/logins.ts'

/** Tells sockets, here and on other instances, whom a change concerns, and no more: a lost notice only causes delay. */
export interface Notices {
  /** The user's records changed. */
  publishChange(userId: string): void
  /** The login ended: its sockets must be closed. */
  publishEnd(login: LoginKey): void
  /** Hears of the ends of logins of all users for whom notices arrive here. */
  subscribe(subscriber: Subscriber): void
  /** Notices for the user arrive from when `ready` resolves until `stop` is called: `changed` hears of their changes. */
  follow(userId: string, changed?: () => void): Following
  /** True while notices of other instances arrive here. */
  isUp(): boolean
  /** How many were sent and received since the start. What is received comes from other instances. */
  counts(): Record<'sent' | 'received', number>
  close(): Promise<void>
}

export interface Subscriber {
  ended(loginId: string): void
  /** Notices may have been lost: everything must be checked. */
  missed(): void
}

export interface Following {
  ready: Promise<void>
  stop(): void
}

/** Reaches only those who listen in this process. */
export function createLocalNotices(): Notices {
  const listeners = createListeners()
  let sent = 0
  return {
    publishChange(userId) {
      sent++
      listeners.changed(userId)
    },
    publishEnd({ loginId }) {
      sent++
      listeners.ended(loginId)
    },
    subscribe: listeners.subscribe,
    follow: (userId, changed) => ({ ready: Promise.resolve(), stop: listeners.follow(userId, changed) }),
    isUp: () => true,
    counts: () => ({ sent, received: 0 }),
    async close() {},
  }
}

/** Those who listen in this process. A change is told to the followers of its user alone. */
export function createListeners() {
  const subscribers = new Set<Subscriber>()
  const followers = new Map<string, Set<{ changed: () => void }>>()
  return {
    subscribe: (subscriber: Subscriber): void => void subscribers.add(subscriber),
    /** Returns a function that ends it. */
    follow(userId: string, changed = () => {}): () => void {
      const follower = { changed }
      const ofUser = followers.get(userId) ?? new Set()
      followers.set(userId, ofUser.add(follower))
      return () => {
        if (ofUser.delete(follower) && ofUser.size === 0) followers.delete(userId)
      }
    },
    followed: (): string[] => [...followers.keys()],
    isFollowed: (userId: string): boolean => followers.has(userId),
    changed(userId: string): void {
      for (const follower of followers.get(userId) ?? []) follower.changed()
    },
    ended(loginId: string): void {
      for (const subscriber of subscribers) subscriber.ended(loginId)
    },
    missed(): void {
      for (const subscriber of subscribers) subscriber.missed()
    },
  }
}
