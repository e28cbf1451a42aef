import type { Clock } from '../../timing/clock.ts'
import type { Change } from './transport.ts'

/** The most bytes of a push (`batchBodyBytes`). Copied, because importing all limits would add 200 bytes to every app. */
const mostBytes = 4 * 1024 * 1024
/** The most bytes of a change in a push, in addition to its ciphertext. */
export const overheadBytes = 1024
/** The first and the longest wait before all changes are tried again: a proxy's fault may end soon, its rules stay. */
const [firstWaitMs, longestWaitMs] = [60_000, 3_600_000]

/** The part of a pending change that its size depends on. */
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

/** A change that fails this often when sent alone is held back. Fewer failures may be due to the connection. */
const mostFailures = 3

/** Finds out which pushes pass a slow connection, a proxy or a firewall, and limits their size. Each tab has its own. */
export class Passage {
  /** The current limit for a push, in bytes. */
  mostBytes = mostBytes
  /** The size of the smallest change that a proxy refused for its size (413) even when sent alone. */
  #tooLarge = Number.POSITIVE_INFINITY
  /** The size of the smallest push that failed; infinite again once one of this size passes, or a single change was the cause. */
  #refused = Number.POSITIVE_INFINITY
  /** How often a change failed when sent alone, by event id. */
  readonly #failures = new Map<string, number>()
  #waitMs = firstWaitMs
  /** When everything is tried again (Unix ms); undefined if no push has failed since the last time. */
  #widenAt: number | undefined

  /**
   * Notes a push that failed. The next one is half as large; a single change is sent last from now on, or held back (413).
   *
   * @param isTooLarge true if a proxy responded with 413
   */
  narrow(batch: readonly Waiting[], clock: Clock, isTooLarge = false): void {
    const bytes = sizeOf(batch)
    const id = batch[0]?.change.id ?? ''
    this.#refused = Math.min(this.#refused, bytes)
    if (batch.length > 1) this.mostBytes = bytes / 2
    else if (isTooLarge) this.#tooLarge = Math.min(this.#tooLarge, bytes)
    else {
      this.#failures.set(id, (this.#failures.get(id) ?? 0) + 1)
      // The batches failed because of their content, not their size.
      this.#refused = Number.POSITIVE_INFINITY
      this.mostBytes = mostBytes
    }
    // Counted from the last failure, because each attempt may take minutes.
    this.#widenAt = clock.now() + this.#waitMs
  }

  passed(batch: readonly Waiting[]): void {
    const failed = batch.filter(({ change }) => this.#failures.delete(change.id))
    if (failed.length === 0 && sizeOf(batch) < this.#refused) return
    this.#refused = Number.POSITIVE_INFINITY
    this.#waitMs = firstWaitMs
  }

  isTooLarge(waiting: Waiting): boolean {
    return bytesOf(waiting) >= this.#tooLarge
  }

  /** True if the change must be sent alone and last, so that it does not hold up others. */
  hasFailed({ change }: Waiting): boolean {
    return this.#failures.has(change.id)
  }

  /** True if the change waits until everything is tried again. */
  isHeldBack(waiting: Waiting): boolean {
    return this.isTooLarge(waiting) || (this.#failures.get(waiting.change.id) ?? 0) >= mostFailures
  }

  /** The time until everything is tried again (ms); the longest wait if no push has failed since the last time. */
  untilWide(clock: Clock): number {
    // No longer than `#waitMs`, even if the clock was set back.
    return this.#widenAt === undefined ? longestWaitMs : Math.min(this.#waitMs, this.#widenAt - clock.now())
  }

  /** @param isAsked true if the user asks for it; otherwise the next wait is longer */
  widen(isAsked = false): void {
    this.#waitMs = isAsked ? firstWaitMs : Math.min(2 * this.#waitMs, longestWaitMs)
    this.mostBytes = mostBytes
    this.#tooLarge = Number.POSITIVE_INFINITY
    this.#widenAt = undefined
  }
}
