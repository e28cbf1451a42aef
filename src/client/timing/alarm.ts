/** Something to wait for again and again. What rang since the last `reset` is not missed. */
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
