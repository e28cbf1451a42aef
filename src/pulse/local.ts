import type { Pulse, Subscriber } from './pulse.ts'

/** Reaches subscribers in this process only. */
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
    isUp: () => true,
    async close() {
      subscribers.clear()
    },
  }
}
