import type { PlaintextBookmark } from '../client/bookmark.ts'
import { areManyDeletes, recentMs } from '../client/sync/edits/many-deletes.ts'
import type { Clock } from '../client/timing/clock.ts'
import type { Agreed, AgreedRow, AgreedStore, Removal } from './agreed.ts'
import { type ServiceEntry, toEntry } from './trees.ts'

/** An entry that is made again within this time has only been moved. */
const knownMs = 600_000
/** Within this time a cut is pasted, and Undo is pressed: Chrome's takes back the last change, also one of this extension. */
const restMs = 10_000
/** Stands before the id of a bookmark, where the store has its removal. */
const mark = '\x02'

/** In the form of the other rows, so that older stores have room for it. */
function toRow(id: string, removal: Removal): AgreedRow {
  return { id: mark + id, browserId: null, kind: 'folder', parent: '', content: { title: '' }, removal }
}

/**
 * Holds the browser's deletes back if they are many: the browser may have lost them, not its user. All that it knows is in the
 * store, so that a question outlives the worker that has asked it.
 */
export class RemovalGuard {
  readonly #clock: Pick<Clock, 'now'>
  readonly #removals = new Map<string, Removal>()
  /** Ids of removals that are not stored. */
  readonly #changed = new Set<string>()
  /** Ids of what is gone from the browser, as this look has found it. */
  readonly #resting = new Set<string>()
  /** The service's entries at the last look. */
  known: ReadonlyMap<string, ServiceEntry> = new Map()

  /** @param stored the guard takes out of it what is its own */
  constructor(clock: Pick<Clock, 'now'>, { rows }: Pick<Agreed, 'rows'>) {
    this.#clock = clock
    for (const [name, { removal }] of [...rows]) {
      if (!removal) continue
      rows.delete(name)
      this.#removals.set(name.slice(mark.length), removal)
    }
  }

  get held(): readonly ServiceEntry[] {
    return this.#held.map(({ bookmark }) => toEntry(bookmark, ''))
  }

  /**
   * Returns the deletes that may be passed on.
   *
   * @param of how many bookmarks there were
   * @param isDoubtful true of what the user must be asked about even if it is alone
   */
  release(
    deleted: readonly ServiceEntry[],
    of: number,
    isDoubtful: (entry: ServiceEntry) => boolean,
  ): readonly ServiceEntry[] {
    const { length: recent } = this.recent
    const isApproved = ({ id }: ServiceEntry) => this.#removals.get(id)?.isApproved === true
    const asked = deleted.filter((entry) => !isApproved(entry))
    const held = new Set(this.#held.map(({ bookmark }) => bookmark.id))
    // Deletes that wait go on to wait, though there may be fewer by now, or more bookmarks.
    const isAsked =
      asked.some((entry) => held.has(entry.id) || isDoubtful(entry)) ||
      (asked.length > 0 && areManyDeletes(asked.length + recent, of + recent))
    const released = deleted.filter((entry) => isApproved(entry) || !(isAsked || this.rests(entry)))
    const ids = new Set([...this.#resting, ...deleted.map(({ id }) => id)])
    for (const [id, { isPassed }] of this.#removals) if (!isPassed && !ids.has(id)) this.#set(id, null)
    this.#resting.clear()
    if (!isAsked) return released
    for (const { id } of asked) if (this.#removals.get(id)?.isResting) this.#set(id, null)
    this.hold(asked.map(({ bookmark }) => bookmark))
    return released
  }

  /** True of what has just gone from the browser: it may have been cut, or come back by Undo. */
  rests({ id, bookmark }: ServiceEntry): boolean {
    const now = this.#clock.now()
    let removal = this.#removals.get(id)
    if (!removal || removal.isPassed) {
      removal = { bookmark, time: now, isApproved: false, isPassed: false, isResting: true }
      this.#set(id, removal)
    }
    if (!isResting(removal, now)) return false
    this.#resting.add(id)
    return true
  }

  /** For so long (ms) the browser stays as its user has left it. */
  get restMs(): number {
    const now = this.#clock.now()
    let longest = 0
    for (const one of this.#removals.values()) {
      if (isResting(one, now)) longest = Math.max(longest, restMs - Math.abs(now - one.time))
    }
    return longest
  }

  /** Deletes that wait, however few they are, unless the user has answered. */
  hold(bookmarks: readonly Readonly<PlaintextBookmark>[]): void {
    const time = this.#askedAt
    for (const bookmark of bookmarks) {
      const isKnown = this.#removals.get(bookmark.id)?.isPassed === false
      if (!isKnown) this.#set(bookmark.id, { bookmark, time, isApproved: false, isPassed: false })
    }
  }

  /** Deletes that are passed on. */
  passed(bookmarks: readonly Readonly<PlaintextBookmark>[]): void {
    const time = this.#clock.now()
    for (const bookmark of bookmarks) {
      const { isApproved = false } = this.#removals.get(bookmark.id) ?? {}
      this.#set(bookmark.id, { bookmark, time, isApproved, isPassed: true })
    }
  }

  /** A delete of another device was applied here. If its user makes the same again, as Undo does, it is the same. */
  deletedElsewhere(id: string): void {
    const { bookmark } = this.known.get(id) ?? {}
    if (bookmark) this.#set(id, { bookmark, time: this.#clock.now(), isApproved: true, isPassed: true })
  }

  /** Returns the bookmarks that were deleted in the last minutes, by id. @param isBack true of one that is there again: it was not deleted */
  deletedLately(isBack: (id: string) => boolean): ReadonlyMap<string, Readonly<PlaintextBookmark>> {
    const [now, isAsked] = [this.#clock.now(), this.#held.length > 0]
    const deleted = new Map<string, Readonly<PlaintextBookmark>>()
    for (const [id, { bookmark, time, isPassed }] of this.#removals) {
      if (!isPassed) continue
      const isLate = isAsked || Math.abs(now - time) < knownMs
      if (isLate && !isBack(id)) deleted.set(id, bookmark)
      else this.#set(id, null)
    }
    return deleted
  }

  /** Deletes that were passed on before those that are held became many: they come back with them. */
  get recent(): readonly Readonly<PlaintextBookmark>[] {
    const now = this.#askedAt
    const isRecent = ({ time, isPassed, isApproved }: Removal) =>
      isPassed && !isApproved && Math.abs(now - time) < recentMs
    return [...this.#removals.values()].filter(isRecent).map(({ bookmark }) => bookmark)
  }

  approve(ids: readonly string[]): void {
    for (const id of ids) {
      const removal = this.#removals.get(id)
      if (removal) this.#set(id, { ...removal, isApproved: true })
    }
  }

  /** Stores what has changed. */
  async save(store: AgreedStore): Promise<void> {
    if (this.#changed.size === 0) return
    const rows = new Map<string, AgreedRow | null>()
    const ids = [...this.#changed]
    for (const id of ids) {
      const removal = this.#removals.get(id)
      rows.set(mark + id, removal ? toRow(id, removal) : null)
    }
    this.#changed.clear()
    try {
      await store.write({ rows, orders: new Map() })
    } catch (error) {
      // The next time, as when the disk was full.
      for (const id of ids) this.#changed.add(id)
      throw error
    }
  }

  get #held(): Removal[] {
    return [...this.#removals.values()].filter((one) => !one.isApproved && !one.isPassed && !one.isResting)
  }

  /** Deletes that the user is asked about belong together, however long the answer takes. */
  get #askedAt(): number {
    return this.#held[0]?.time ?? this.#clock.now()
  }

  #set(id: string, removal: Removal | null): void {
    if (removal) this.#removals.set(id, removal)
    else if (!this.#removals.delete(id)) return
    this.#changed.add(id)
  }
}

function isResting({ isResting, isApproved, time }: Removal, now: number): boolean {
  return isResting === true && !isApproved && Math.abs(now - time) < restMs
}
