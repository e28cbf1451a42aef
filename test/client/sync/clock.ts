import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { abortable, type Clock } from '../../../src/client/timing/clock.ts'

interface Sleeper {
  at: number
  wake(): void
}

/** Time that passes only when the test says so, for the service and for devices, whose clocks may be wrong. */
export class World {
  /** How many sleepers the passing of time has woken. */
  wakes = 0
  #time = 1_764_000_000_000
  readonly #sleepers = new Set<Sleeper>()
  readonly #onTime: (time: number) => void

  /** @param onTime sets the service's clock; called with the time (Unix ms) now and whenever it changes */
  constructor(onTime: (time: number) => void = () => {}) {
    this.#onTime = onTime
    onTime(this.#time)
  }

  get time(): number {
    return this.#time
  }

  /** A clock that is this many ms ahead. A function is called whenever the clock is read. */
  clock(skew: number | (() => number) = 0): Clock {
    return {
      now: () => this.time + (typeof skew === 'number' ? skew : skew()),
      sleep: async (ms, signal) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        const sleeper = { at: this.time + Math.ceil(ms), wake: resolve }
        this.#sleepers.add(sleeper)
        await abortable(promise, signal).finally(() => this.#sleepers.delete(sleeper))
      },
    }
  }

  /** The number of sleepers. It must be 0 after everything was stopped. */
  get sleepers(): number {
    return this.#sleepers.size
  }

  /** Lets time pass, and all work that it wakes run. */
  async pass(ms: number): Promise<void> {
    await settled()
    const end = this.time + ms
    for (;;) {
      const due = [...this.#sleepers].filter(({ at }) => at <= end)
      const next = due.sort((one, other) => one.at - other.at)[0]
      if (!next) break
      this.#setTime(Math.max(this.#time, next.at))
      this.#sleepers.delete(next)
      next.wake()
      this.wakes++
      await settled()
    }
    this.#setTime(end)
  }

  #setTime(time: number): void {
    this.#time = time
    this.#onTime(time)
  }
}

/** Lets pending work run for some turns of the event loop. */
export async function turns(count = 2): Promise<void> {
  for (let turn = 0; turn < count; turn++) await eventLoopTurn()
}

let underWay = 0

/** Runs the work. `settled` waits for its end. */
export async function counted<T>(work: () => Promise<T>): Promise<T> {
  underWay++
  return work().finally(() => underWay--)
}

/** Resolves when all calls have ended, except those that wait for time to pass. */
export async function settled(): Promise<void> {
  do await turns()
  while (underWay > 0)
}

/** A long limit, so that a busy machine does not fail a test. By `process.uptime`, which no test replaces. */
const limitSeconds = 300

/** Resolves in the turn of the event loop in which the condition holds. */
export async function until(holds: () => boolean): Promise<void> {
  for (const end = process.uptime() + limitSeconds; !holds(); await eventLoopTurn())
    if (process.uptime() > end) throw new Error(`the condition did not hold in time: ${holds}`)
}
