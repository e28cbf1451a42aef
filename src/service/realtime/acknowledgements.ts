import { ServiceError } from '../contract/errors.ts'
import type { ChangeRow } from '../db/tables/changes.ts'
import { type EntityKey, entityKey } from '../db/tables/records.ts'

/** The limit for a client that sends changes but never reads their acknowledgements. */
const maxAwaited = 1000

/**
 * The changes that a socket receives although its own device made them: those that were sent over it. They are listed
 * by entity, because a newer change of an entity also acknowledges an older one.
 */
export class Acknowledgements {
  /** Most sockets never send a change. */
  #awaited: Set<string> | undefined
  #pushing: { key: string; deliveredStamp: number | undefined } | undefined

  /** Whether the next change in order of sequence numbers is an acknowledgement; if so, it counts as delivered. */
  take(row: ChangeRow): boolean {
    if (!this.#awaited && !this.#pushing) return false
    const key = entityKey(row)
    const isPushing = this.#pushing?.key === key
    if (this.#pushing && isPushing) this.#pushing.deliveredStamp = row.stamp
    return this.#awaited?.delete(key) || isPushing
  }

  /**
   * Pushes a change of the entity, and resolves to the change that must be sent now, if any. `push` resolves to the one
   * that it wrote or found, which may be delivered before it returns. One beyond the socket's cursor is sent in its
   * turn, so that sequence numbers never run ahead of what was delivered.
   *
   * @throws ServiceError TooManyRequests, and what `push` throws
   */
  async acknowledge(
    entity: EntityKey,
    push: () => Promise<ChangeRow | undefined>,
    cursor: () => number,
  ): Promise<ChangeRow | undefined> {
    this.#awaited ??= new Set()
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
