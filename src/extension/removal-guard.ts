import type { PlaintextBookmark } from '../client/bookmark.ts'
import { areManyDeletes, recentMs } from '../client/sync/edits/many-deletes.ts'
import type { Clock } from '../client/timing/clock.ts'
import type { ServiceEntry } from './trees.ts'

/** Holds the browser's deletes back if they are many: the browser may have lost them, not its user. */
export class RemovalGuard {
  readonly #clock: Pick<Clock, 'now'>
  readonly #approved = new Set<string>()
  #recent: { bookmark: Readonly<PlaintextBookmark>; time: number }[] = []
  #held: readonly ServiceEntry[] = []

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  get held(): readonly ServiceEntry[] {
    return this.#held
  }

  /** Those of the deletes that may be passed on. @param of how many bookmarks there were */
  release(deleted: readonly ServiceEntry[], of: number): readonly ServiceEntry[] {
    const now = this.#clock.now()
    // Deletes that the user is asked about belong together, however long the answer takes.
    if (this.#held.length === 0) this.#recent = this.#recent.filter(({ time }) => Math.abs(now - time) < recentMs)
    const asked = deleted.filter(({ id }) => !this.#approved.has(id))
    const count = asked.length + this.#recent.length
    const held = new Set(this.#held.map(({ id }) => id))
    // Deletes that wait go on to wait, though there may be fewer by now, or more bookmarks.
    const isMany =
      asked.some(({ id }) => held.has(id)) || (asked.length > 0 && areManyDeletes(count, of + this.#recent.length))
    this.#held = isMany ? asked : []
    return isMany ? deleted.filter(({ id }) => this.#approved.has(id)) : deleted
  }

  /** Deletes that are passed on. */
  passed(bookmarks: readonly Readonly<PlaintextBookmark>[]): void {
    const time = this.#clock.now()
    for (const bookmark of bookmarks) if (!this.#approved.delete(bookmark.id)) this.#recent.push({ bookmark, time })
  }

  /** Deletes that were passed on before those that are held became many: they come back with them. */
  takeRecent(): Readonly<PlaintextBookmark>[] {
    return this.#recent.splice(0).map(({ bookmark }) => bookmark)
  }

  approve(ids: readonly string[]): void {
    for (const id of ids) this.#approved.add(id)
  }
}
