import type { FastifyInstance } from 'fastify'

const checkMs = 10_000
/** 13 kbit/s: far below any network with which a person would wait. */
const minBytes = 16 * 1024
/** What holds more memory must go on faster. A body that arrives evenly within the two minutes of a request does. */
const minShare = 1 / 12

/** A body that is arriving. */
class Arrival {
  readonly stop: () => void
  readonly #underWay: Set<Arrival>
  #received = 0
  #atLastCheck: number | undefined

  constructor(underWay: Set<Arrival>, stop: () => void) {
    this.#underWay = underWay
    this.stop = stop
    underWay.add(this)
  }

  count(bytes: number): void {
    this.#received += bytes
  }

  end(): void {
    this.#underWay.delete(this)
  }

  /** Asked at each check. One that began between two checks has until the next one. */
  isTooSlow(): boolean {
    const before = this.#atLastCheck
    this.#atLastCheck = this.#received
    return before !== undefined && this.#received - before < Math.max(minBytes, before * minShare)
  }
}

export interface BodyProgress {
  /** Calls `stop` if too little of the body arrives between two checks. */
  begin(stop: () => void): Arrival
}

/** Watches bodies as they arrive: one that does not go on would hold its memory for the two minutes of a request. */
export function watchProgress(app: FastifyInstance): BodyProgress {
  const underWay = new Set<Arrival>()
  function check(): void {
    for (const body of [...underWay]) if (body.isTooSlow()) body.stop()
  }
  // If the process was held up, what has arrived meanwhile is read first.
  const timer = setInterval(() => setImmediate(check), checkMs).unref()
  app.addHook('onClose', async () => clearInterval(timer))
  return { begin: (stop) => new Arrival(underWay, stop) }
}
