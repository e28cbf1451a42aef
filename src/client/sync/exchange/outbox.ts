import { Alarm } from '../../timing/alarm.ts'

/** Rings when an edit was queued, and knows whether it is worth sending what waits. */
export class Outbox extends Alarm {
  #isRefused = false

  get isRefused(): boolean {
    return this.#isRefused
  }

  /** The service refused a batch for what is in it: sending the same again would bring the same response. */
  refuse(): void {
    this.#isRefused = true
  }

  /** What was refused is sent again: something changed, or the user asks for it. */
  reopen(): void {
    this.#isRefused = false
  }

  override ring(): void {
    this.reopen()
    super.ring()
  }
}
