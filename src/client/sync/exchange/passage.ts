import type { Clock } from '../../timing/clock.ts'
import type { Change } from './transport.ts'

/** The contract's `batchBodyBytes`, without the other quotas, which would add 200 bytes to every app. */
const mostBytes = 4 * 1024 * 1024
/** Bytes of a change beside its ciphertext, at most. */
export const overheadBytes = 1024
/** A proxy that is at fault is soon well again; one with a rule of its own keeps it. */
const [firstWaitMs, longestWaitMs] = [60_000, 3_600_000]

/** A change, as it waits. */
interface Waiting {
  change: Change
}

export function bytesOf({ change }: Waiting): number {
  return overheadBytes + (change.encrypted_data?.length ?? 0)
}

function sizeOf(batch: readonly Waiting[]): number {
  return batch.reduce((sum, one) => sum + bytesOf(one), 0)
}

export function passageOf({ outbox }: { outbox: { passage: Passage | undefined } }): Passage {
  outbox.passage ??= new Passage()
  return outbox.passage
}

/** After this many failures of its own, a change is held back. Fewer may be the connection's. */
const mostFailures = 3

/** Tracks which pushes pass a slow connection, a proxy or a firewall, as far as this tab has found out. */
export class Passage {
  /** Bytes of one push. */
  mostBytes = mostBytes
  /** The bytes of a change that did not pass, although it was sent alone. */
  #tooLarge = Number.POSITIVE_INFINITY
  /** The smallest push that has not passed, until one of its size does. */
  #refused = Number.POSITIVE_INFINITY
  /** How often a change did not pass, although it was alone and a push of nothing passed, by event id. */
  readonly #failures = new Map<string, number>()
  #waitMs = firstWaitMs
  /** When everything is tried again (Unix ms); undefined while nothing is known to be held back. */
  #widenAt: number | undefined

  /**
   * A push of these did not pass: the next one is half as large, or the change that was alone goes last from now on.
   *
   * @param isTooLarge a proxy says that it is the size
   */
  narrow(batch: readonly Waiting[], clock: Clock, isTooLarge = false): void {
    const bytes = sizeOf(batch)
    const id = batch[0]?.change.id ?? ''
    this.#refused = Math.min(this.#refused, bytes)
    if (batch.length > 1) this.mostBytes = bytes / 2
    else if (isTooLarge) this.#tooLarge = Math.min(this.#tooLarge, bytes)
    else {
      this.#failures.set(id, (this.#failures.get(id) ?? 0) + 1)
      // The batches were refused for what is in it, not for their size.
      this.#refused = Number.POSITIVE_INFINITY
      this.mostBytes = mostBytes
    }
    // From the last one on: each may take minutes to fail.
    this.#widenAt = clock.now() + this.#waitMs
  }

  /** A push of these has passed. */
  passed(batch: readonly Waiting[]): void {
    const failed = batch.filter(({ change }) => this.#failures.delete(change.id))
    if (failed.length === 0 && sizeOf(batch) < this.#refused) return
    this.#refused = Number.POSITIVE_INFINITY
    this.#waitMs = firstWaitMs
  }

  isTooLarge(waiting: Waiting): boolean {
    return bytesOf(waiting) >= this.#tooLarge
  }

  /** True if it must hold up no other: it is sent alone, after them. */
  hasFailed({ change }: Waiting): boolean {
    return this.#failures.has(change.id)
  }

  /** True if it is to wait until everything is tried again. */
  isHeldBack(waiting: Waiting): boolean {
    return this.isTooLarge(waiting) || (this.#failures.get(waiting.change.id) ?? 0) >= mostFailures
  }

  /** How long until everything is tried again (ms). */
  untilWide(clock: Clock): number {
    // Also if the clock was put back.
    return this.#widenAt === undefined ? longestWaitMs : Math.min(this.#waitMs, this.#widenAt - clock.now())
  }

  /** @param isAsked the user asks for it: else the next wait is longer */
  widen(isAsked = false): void {
    this.#waitMs = isAsked ? firstWaitMs : Math.min(2 * this.#waitMs, longestWaitMs)
    this.mostBytes = mostBytes
    this.#tooLarge = Number.POSITIVE_INFINITY
    this.#widenAt = undefined
  }
}
