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
