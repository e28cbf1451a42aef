import { ServiceError } from '../contract/errors.ts'
import { type EntityKey, entityKey, type Row } from '../db/rows.ts'

/** A client that sends changes and never takes their acknowledgements is not served without end. */
const maxAwaited = 1000

/**
 * Which changes a socket gets although its own device made them: those that were sent over it. They are known by entity,
 * since a newer change of the same entity acknowledges an older one.
 */
export class Acknowledgements {
  readonly #awaited = new Set<string>()
  #pushing: { key: string; deliveredStamp: number | undefined } | undefined

  /** Whether a change that comes by in stamp order is due; it is delivered then. */
  take(row: Row): boolean {
    const key = entityKey(row)
    const isPushing = this.#pushing?.key === key
    if (this.#pushing && isPushing) this.#pushing.deliveredStamp = row.stamp
    return this.#awaited.delete(key) || isPushing
  }

  /**
   * Pushes a change of the entity, and resolves to the change that must be sent now, if any: `push` resolves to the one
   * that it wrote or met, which may come by before it returns. One that the socket still has before it is sent in its
   * turn, so that stamps never run ahead of what was delivered.
   *
   * @throws ServiceError TooManyRequests, and what `push` throws
   */
  async acknowledge(
    entity: EntityKey,
    push: () => Promise<Row | undefined>,
    cursor: () => number,
  ): Promise<Row | undefined> {
    if (this.#awaited.size >= maxAwaited) throw new ServiceError('TooManyRequests')
    const pushing = { key: entityKey(entity), deliveredStamp: undefined as number | undefined }
    this.#pushing = pushing
    try {
      const row = await push()
      if (!row || pushing.deliveredStamp === row.stamp) return undefined
      if (row.stamp <= cursor()) return row
      this.#awaited.add(pushing.key)
      return undefined
    } finally {
      this.#pushing = undefined
    }
  }
}
