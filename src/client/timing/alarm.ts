/** A signal that can be awaited repeatedly. A ring since the last `reset` is never missed. */
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
