/** Tells that a user's records changed: no more than that, so a lost pulse costs only delay. */
export interface Pulse {
  publish(userId: string): void
  subscribe(listener: (userId: string) => void): void
  close(): Promise<void>
}

/** Within one process. */
export function createPulse(): Pulse {
  const listeners = new Set<(userId: string) => void>()
  return {
    publish(userId) {
      for (const listener of listeners) listener(userId)
    },
    subscribe(listener) {
      listeners.add(listener)
    },
    async close() {
      listeners.clear()
    },
  }
}
