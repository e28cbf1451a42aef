import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { abortable, type Clock } from '../../../src/client/timing/clock.ts'

interface Sleeper {
  at: number
  wake(): void
}

/** Time that passes when the test says so, for the service and for devices whose clocks are off. */
export class World {
  /** How often time has woken somebody. */
  wakes = 0
  #time = 1_764_000_000_000
  readonly #sleepers = new Set<Sleeper>()
  readonly #onTime: (time: number) => void

  /** @param onTime told the time (Unix ms), at first and whenever it passes: the service's clock */
  constructor(onTime: (time: number) => void = () => {}) {
    this.#onTime = onTime
    onTime(this.#time)
  }

  get time(): number {
    return this.#time
  }

  /** A clock that is this many ms ahead, or as many as it says when it is read. */
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

  /** Who sleeps now: nobody, once everything was stopped. */
  get sleepers(): number {
    return this.#sleepers.size
  }

  /** Lets time pass, and what it wakes happen. */
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

/** Lets everything happen that waits for nothing from outside. */
export async function turns(count = 2): Promise<void> {
  for (let turn = 0; turn < count; turn++) await eventLoopTurn()
}

let underWay = 0

/** Counts the work as under way, for `settled`. */
export async function counted<T>(work: () => Promise<T>): Promise<T> {
  underWay++
  return work().finally(() => underWay--)
}

/** Lets everything happen that waits for no time to pass: calls that are under way come to their end. */
export async function settled(): Promise<void> {
  do await turns()
  while (underWay > 0)
}

/** A busy machine is not a fault. The test may have replaced the other clocks. */
const patienceSeconds = 300

/** Resolves in the turn of the event loop in which it holds. */
export async function until(holds: () => boolean): Promise<void> {
  for (const end = process.uptime() + patienceSeconds; !holds(); await eventLoopTurn())
    if (process.uptime() > end) throw new Error(`it has not happened: ${holds}`)
}
