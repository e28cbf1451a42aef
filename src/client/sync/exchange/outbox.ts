import { Alarm } from '../../timing/alarm.ts'

/** Rings when an edit has been queued, and knows whether sending the pending changes is worthwhile. */
export class Outbox extends Alarm {
  #isRefused = false

  get isRefused(): boolean {
    return this.#isRefused
  }

  /** The service refused a batch because of its content: sending it again would bring the same response. */
  refuse(): void {
    this.#isRefused = true
  }

  /** Allows the refused batch to be sent again: something has changed, or the user asks for it. */
  reopen(): void {
    this.#isRefused = false
  }

  override ring(): void {
    this.reopen()
    super.ring()
  }
}
