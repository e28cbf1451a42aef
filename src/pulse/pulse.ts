/** Tells sockets, here and on other instances, whom a change concerns, and no more: a lost pulse only causes delay. */
export interface Pulse {
  /** The user's records changed. */
  publishChange(userId: string): void
  /** The login ended: its sockets must be closed. */
  publishEnd(loginId: string): void
  subscribe(subscriber: Subscriber): void
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
