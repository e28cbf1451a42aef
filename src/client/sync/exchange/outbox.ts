import { Alarm } from '../../timing/clock.ts'

/** Rings when an edit has been queued, and knows whether sending the pending changes is worthwhile. */
export class Outbox extends Alarm {
  #isRefused = false
  #triesQuota = false

  get isRefused(): boolean {
    return this.#isRefused
  }

  /** The service refuses one change after the other: sending more would bring the same response. */
  refuse(): void {
    this.#isRefused = true
  }

  /** The user asks for it: everything is sent again, including what exceeded the quota. */
  reopen(): void {
    this.#isRefused = false
    this.#triesQuota = true
  }

  /** True, once only, if edits that exceeded the quota are to be sent again. */
  takeQuotaTry(): boolean {
    const tries = this.#triesQuota
    this.#triesQuota = false
    return tries
  }

  override ring(): void {
    this.#isRefused = false
    super.ring()
  }
}
