import type { FastifyInstance } from 'fastify'

const checkMs = 10_000
/** 13 kbit/s: far below any network with which a person would wait. */
const minBytes = 16 * 1024
/** What holds more memory must go on faster. A body that arrives evenly within the two minutes of a request does. */
const minShare = 1 / 12

/** A body that is arriving. */
interface Arrival {
  count(bytes: number): void
  end(): void
}

export interface BodyProgress {
  /** Calls `stop` if too little of the body arrives between two checks. */
  begin(stop: () => void): Arrival
}

/** Watches bodies as they arrive: one that does not go on would hold its memory for the two minutes of a request. */
export function watchProgress(app: FastifyInstance): BodyProgress {
  const underWay = new Set<{ isTooSlow(): boolean; stop(): void }>()
  function check(): void {
    for (const body of [...underWay]) if (body.isTooSlow()) body.stop()
  }
  // If the process was held up, what has arrived meanwhile is read first.
  const timer = setInterval(() => setImmediate(check), checkMs).unref()
  app.addHook('onClose', async () => clearInterval(timer))

  return {
    begin(stop) {
      let received = 0
      let atLastCheck: number | undefined
      const body = {
        stop,
        isTooSlow() {
          const before = atLastCheck
          atLastCheck = received
          // One that began between two checks has until the next one.
          return before !== undefined && received - before < Math.max(minBytes, before * minShare)
        },
      }
      underWay.add(body)
      return {
        count(bytes) {
          received += bytes
        },
        end() {
          underWay.delete(body)
        },
      }
    },
  }
}
