import type { LoginKey } from '../db/tables/logins.ts'

/** Tells sockets, here and on other instances, whom a change concerns, and no more: a lost pulse only causes delay. */
export interface Pulse {
  /** The user's records changed. */
  publishChange(userId: string): void
  /** The login ended: its sockets must be closed. */
  publishEnd(login: LoginKey): void
  /** Hears of all users for whom pulses arrive here. */
  subscribe(subscriber: Subscriber): void
  /** Pulses for the user arrive from when `ready` resolves until `stop` is called. */
  follow(userId: string): Following
  /** Whether pulses of other instances arrive here. */
  isUp(): boolean
  /** How many were sent and received since the start. What is received comes from other instances. */
  counts(): Record<'sent' | 'received', number>
  close(): Promise<void>
}

export interface Subscriber {
  changed(userId: string): void
  ended(loginId: string): void
  /** Pulses may have been lost: everything must be checked. */
  missed(): void
}

export interface Following {
  ready: Promise<void>
  stop(): void
}
