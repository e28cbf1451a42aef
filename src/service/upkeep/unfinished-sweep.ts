/** A sweep could not remove all that it found. The next one tries again. */
export class UnfinishedSweep extends Error {
  override name = 'UnfinishedSweep'
  /** How many it has removed. */
  readonly removed: number

  constructor(removed: number, message: string) {
    super(message)
    this.removed = removed
  }
}
