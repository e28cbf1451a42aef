import type { FastifyBaseLogger } from 'fastify'
import { createPostgresPulse } from './pulse-postgres.ts'

/** What other sockets, here and on other instances, must know: no more than who, so a lost pulse costs only delay. */
export interface Pulse {
  /** The user's records changed. */
  publishChange(userId: string): void
  /** The login ended: its sockets are to be closed. */
  publishEnd(loginId: string): void
  subscribe(subscriber: Subscriber): void
  close(): Promise<void>
}

export interface Subscriber {
  changed(userId: string): void
  ended(loginId: string): void
  /** Pulses may have been lost: everything is to be looked at. */
  missed(): void
}

/** On SQLite there is one process, on Postgres there may be many. */
export function openPulse(databaseUrl: string, log: FastifyBaseLogger): Pulse {
  return databaseUrl.startsWith('sqlite:') ? createLocalPulse() : createPostgresPulse(databaseUrl, log)
}

export function createLocalPulse(): Pulse {
  const subscribers = new Set<Subscriber>()
  return {
    publishChange(userId) {
      for (const subscriber of subscribers) subscriber.changed(userId)
    },
    publishEnd(loginId) {
      for (const subscriber of subscribers) subscriber.ended(loginId)
    },
    subscribe(subscriber) {
      subscribers.add(subscriber)
    },
    async close() {
      subscribers.clear()
    },
  }
}
