import { type EntityKey, entityKey, type Row } from '../db/records.ts'

/** A client that sends changes and never takes their acknowledgements is not served without end. */
const maxAwaited = 1000

/**
 * Which changes a socket gets although its own device made them: those that were sent over it. They are known by entity,
 * since a newer change of the same entity acknowledges an older one.
 */
export class Acknowledgements {
  readonly #awaited = new Set<string>()
  #pushing: { key: string; deliveredStamp: number | undefined } | undefined

  get full(): boolean {
    return this.#awaited.size >= maxAwaited
  }

  /** From here on a change of the entity is due, as it may be read before the push that wrote it returns. */
  begin(change: EntityKey): void {
    this.#pushing = { key: entityKey(change), deliveredStamp: undefined }
  }

  /** Whether a change that comes by in stamp order is due; it is delivered then. */
  take(row: Row): boolean {
    const key = entityKey(row)
    const isPushing = this.#pushing?.key === key
    if (this.#pushing && isPushing) this.#pushing.deliveredStamp = row.stamp
    return this.#awaited.delete(key) || isPushing
  }

  /**
   * The push is over. For an accepted one, tells whether `row`, which it wrote or met, must be sent now: one that the socket
   * still has before it is sent in its turn, so that stamps never run ahead of what was delivered.
   */
  end(row: Row | undefined, cursor: number): boolean {
    const delivered = this.#pushing?.deliveredStamp
    this.#pushing = undefined
    if (!row || delivered === row.stamp) return false
    if (row.stamp <= cursor) return true
    this.#awaited.add(entityKey(row))
    return false
  }
}
