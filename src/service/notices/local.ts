import type { Pulse, Subscriber } from './notice.ts'

const nothing = { ready: Promise.resolve(), stop() {} }

/** Reaches subscribers in this process only. */
export function createLocalPulse(): Pulse {
  const subscribers = new Set<Subscriber>()
  let sent = 0
  return {
    publishChange(userId) {
      sent++
      for (const subscriber of subscribers) subscriber.changed(userId)
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
