/** A sweep could not remove everything that it found. The next one tries again. */
export class UnfinishedSweep extends Error {
  override name = 'UnfinishedSweep'
  /** The number of rows or objects that were removed. */
  readonly removed: number

  constructor(removed: number, message: string) {
    super(message)
    this.removed = removed
  }
}
