/** The current time, and timers. Tests pass a clock of their own. */
export interface Clock {
  /** The current time (Unix ms). */
  now(): number
  /** Resolves after this many ms. Rejects with the signal's reason if it aborts before, and leaves no timer behind. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** The longest timer (ms), 24 days: platforms run a longer one at once. */
const longestTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    let timer: ReturnType<typeof setTimeout> | undefined
    const elapsed = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.min(ms, longestTimerMs))
    })
    await abortable(elapsed, signal).finally(() => clearTimeout(timer))
  },
}

/** Settles as the promise does, or rejects with the signal's reason if that aborts first. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  let abort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Waits until `ms` have passed, an alarm has rung, or the signal has aborted. */
export async function pause(clock: Clock, ms: number, alarms: Promise<void>[], signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const elapsed = clock.sleep(ms, AbortSignal.any([signal, over.signal])).catch(() => {})
  await Promise.race([elapsed, ...alarms])
  over.abort('over')
}

/** The least time (ms) between attempts that fail, even if an alarm rings. */
export const leastWaitMs = 1000

/** An event to wait for, again and again. A `ring` since the last `reset` is never missed. */
export class Alarm {
  #ring = Promise.withResolvers<void>()

  get rung(): Promise<void> {
    return this.#ring.promise
  }

  ring(): void {
    this.#ring.resolve()
  }

  reset(): void {
    this.#ring = Promise.withResolvers()
  }
}
