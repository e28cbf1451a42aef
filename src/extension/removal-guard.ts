import type { PlaintextBookmark } from '../client/bookmark.ts'
import { areManyDeletes, recentMs } from '../client/sync/edits/many-deletes.ts'
import type { Clock } from '../client/timing/clock.ts'
import type { ServiceEntry } from './trees.ts'

/** A delete that was passed on. Those that the user has approved do not count. */
interface Passed {
  bookmark: Readonly<PlaintextBookmark>
  time: number
  isApproved: boolean
}

/** What is made anew within this time has only been moved. */
const knownMs = 600_000

/** Holds the browser's deletes back if they are many: the browser may have lost them, not its user. */
export class RemovalGuard {
  readonly #clock: Pick<Clock, 'now'>
  readonly #approved = new Set<string>()
  #passed: Passed[] = []
  #held: readonly ServiceEntry[] = []
  /** Deletes that the user is asked about belong together, however long the answer takes. */
  #askedAt: number | undefined

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  get held(): readonly ServiceEntry[] {
    return this.#held
  }

  /** Those of the deletes that may be passed on. @param of how many bookmarks there were */
  release(deleted: readonly ServiceEntry[], of: number): readonly ServiceEntry[] {
    const asked = deleted.filter(({ id }) => !this.#approved.has(id))
    const recent = this.recent.length
    const count = asked.length + recent
    const held = new Set(this.#held.map(({ id }) => id))
    // Deletes that wait go on to wait, though there may be fewer by now, or more bookmarks.
    const isMany = asked.some(({ id }) => held.has(id)) || (asked.length > 0 && areManyDeletes(count, of + recent))
    this.#held = isMany ? asked : []
    this.#askedAt = isMany ? (this.#askedAt ?? this.#clock.now()) : undefined
    return isMany ? deleted.filter(({ id }) => this.#approved.has(id)) : deleted
  }

  /** Deletes that are passed on. */
  passed(bookmarks: readonly Readonly<PlaintextBookmark>[]): void {
    const time = this.#clock.now()
    for (const bookmark of bookmarks) {
      this.#passed.push({ bookmark, time, isApproved: this.#approved.delete(bookmark.id) })
    }
  }

  /** By id, what was passed on in the last minutes. @param isBack true of what is there again, which was no delete then */
  deletedLately(isBack: (id: string) => boolean): ReadonlyMap<string, Readonly<PlaintextBookmark>> {
    const now = this.#clock.now()
    const isLate = (time: number) => this.#askedAt !== undefined || Math.abs(now - time) < knownMs
    this.#passed = this.#passed.filter(({ bookmark, time }) => isLate(time) && !isBack(bookmark.id))
    return new Map(this.#passed.map(({ bookmark }) => [bookmark.id, bookmark]))
  }

  /** Deletes that were passed on before those that are held became many: they come back with them. */
  get recent(): readonly Readonly<PlaintextBookmark>[] {
    const now = this.#askedAt ?? this.#clock.now()
    const isRecent = ({ time, isApproved }: Passed) => !isApproved && Math.abs(now - time) < recentMs
    return this.#passed.filter(isRecent).map(({ bookmark }) => bookmark)
  }

  approve(ids: readonly string[]): void {
    for (const id of ids) this.#approved.add(id)
  }
}
