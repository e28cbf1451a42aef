import type { LoginKey } from '../db/tables/logins.ts'

/** Tells sockets, here and on other instances, whom a change concerns, and no more: a lost notice only causes delay. */
export interface Notices {
  /** The user's records changed. */
  publishChange(userId: string): void
  /** The login ended: its sockets must be closed. */
  publishEnd(login: LoginKey): void
  /** Hears of all users for whom notices arrive here. */
  subscribe(subscriber: Subscriber): void
  /** Notices for the user arrive from when `ready` resolves until `stop` is called. */
  follow(userId: string): Following
  /** True while notices of other instances arrive here. */
  isUp(): boolean
  /** How many were sent and received since the start. What is received comes from other instances. */
  counts(): Record<'sent' | 'received', number>
  close(): Promise<void>
}

export interface Subscriber {
  changed?(userId: string): void
  ended(loginId: string): void
  /** Notices may have been lost: everything must be checked. */
  missed(): void
}

export interface Following {
  ready: Promise<void>
  stop(): void
}

const nothing = { ready: Promise.resolve(), stop() {} }

/** Reaches subscribers in this process only. */
export function createLocalNotices(): Notices {
  const subscribers = new Set<Subscriber>()
  let sent = 0
  return {
    publishChange(userId) {
      sent++
      for (const subscriber of subscribers) subscriber.changed?.(userId)
    },
    publishEnd({ loginId }) {
      sent++
      for (const subscriber of subscribers) subscriber.ended(loginId)
    },
    subscribe(subscriber) {
      subscribers.add(subscriber)
    },
    follow: () => nothing,
    isUp: () => true,
    counts: () => ({ sent, received: 0 }),
    async close() {
      subscribers.clear()
    },
  }
}
