import type { PlaintextBookmark } from '../client/bookmark.ts'
import { areManyDeletes, recentMs } from '../client/sync/edits/many-deletes.ts'
import type { Clock } from '../client/timing/clock.ts'
import type { Agreed, AgreedRow, AgreedStore, Removal } from './agreed.ts'
import { type ServiceEntry, toEntry } from './trees.ts'

/** A deleted bookmark that is created again within this time (ms) counts as moved. */
const knownMs = 600_000
/** A delete waits this long (ms) for a paste or Undo. The browser stays as it is, or its Undo could revert that instead. */
const restMs = 10_000
/** Prefix of a bookmark's id in the name of its stored removal. */
const removalPrefix = '\x02'

/** Has the form of other rows, so that every implementation of `AgreedStore` accepts it. */
function toRow(id: string, removal: Removal): AgreedRow {
  return { id: removalPrefix + id, browserId: null, kind: 'folder', parent: '', content: { title: '' }, removal }
}

/**
 * Holds back many deletes at once, and doubtful ones, until the user has confirmed them: the browser may have lost the
 * bookmarks. Held deletes are in the store, so that a question outlives the worker that asked it.
 */
export class RemovalGuard {
  readonly #clock: Pick<Clock, 'now'>
  readonly #removals = new Map<string, Removal>()
  /** Ids of removals that are not stored yet. */
  readonly #changed = new Set<string>()
  /** Ids that this comparison found missing in the browser for only a few seconds. */
  readonly #resting = new Set<string>()
  /** The service's entries at the last comparison. */
  known: ReadonlyMap<string, ServiceEntry> = new Map()

  /** @param stored the guard removes its own rows from it */
  constructor(clock: Pick<Clock, 'now'>, { rows }: Pick<Agreed, 'rows'>) {
    this.#clock = clock
    for (const [name, { removal }] of [...rows]) {
      if (!removal) continue
      rows.delete(name)
      this.#removals.set(name.slice(removalPrefix.length), removal)
    }
  }

  get held(): readonly ServiceEntry[] {
    return this.#held.map(({ bookmark }) => toEntry(bookmark, ''))
  }

  /**
   * Returns the deletes that may be passed on.
   *
   * @param of the number of bookmarks before the deletes
   * @param isDoubtful true for a bookmark that the user must be asked about, even if it is the only one
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
    // Held deletes keep waiting, even if there are fewer by now, or more bookmarks.
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

  /** True while a bookmark has been missing for only a few seconds: it may be pasted, or come back by Undo. */
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

  /** How long (ms) the browser must still be left as it is. */
  get restMs(): number {
    const now = this.#clock.now()
    let longest = 0
    for (const one of this.#removals.values()) {
      if (isResting(one, now)) longest = Math.max(longest, restMs - Math.abs(now - one.time))
    }
    return longest
  }

  /** Holds deletes until the user has answered, however few they are. */
  hold(bookmarks: readonly Readonly<PlaintextBookmark>[]): void {
    const time = this.#askedAt
    for (const bookmark of bookmarks) {
      const isKnown = this.#removals.get(bookmark.id)?.isPassed === false
      if (!isKnown) this.#set(bookmark.id, { bookmark, time, isApproved: false, isPassed: false })
    }
  }

  /** Notes deletes that are passed on. */
  passed(bookmarks: readonly Readonly<PlaintextBookmark>[]): void {
    const time = this.#clock.now()
    for (const bookmark of bookmarks) {
      const { isApproved = false } = this.#removals.get(bookmark.id) ?? {}
      this.#set(bookmark.id, { bookmark, time, isApproved, isPassed: true })
    }
  }

  /** Notes that another device's delete was applied here. If the user undoes it, the bookmark keeps its id. */
  deletedElsewhere(id: string): void {
    const { bookmark } = this.known.get(id) ?? {}
    if (bookmark) this.#set(id, { bookmark, time: this.#clock.now(), isApproved: true, isPassed: true })
  }

  /**
   * Returns bookmarks whose delete was passed on recently, by id, and forgets those passed on earlier.
   *
   * @param isBack true for a bookmark that exists again, and so does not count as deleted
   */
  deletedLately(isBack: (id: string) => boolean): ReadonlyMap<string, Readonly<PlaintextBookmark>> {
    const [now, isAsked] = [this.#clock.now(), this.#held.length > 0]
    const deleted = new Map<string, Readonly<PlaintextBookmark>>()
    for (const [id, { bookmark, time, isPassed }] of this.#removals) {
      if (!isPassed) continue
      const isRecent = isAsked || Math.abs(now - time) < knownMs
      if (isRecent && !isBack(id)) deleted.set(id, bookmark)
      else this.#set(id, null)
    }
    return deleted
  }

  /** Deletes passed on without asking in the minute before the held ones, or before now. Counted and restored with these. */
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
      rows.set(removalPrefix + id, removal ? toRow(id, removal) : null)
    }
    this.#changed.clear()
    try {
      await store.write({ rows, orders: new Map() })
    } catch (error) {
      // Tries again at the next save, for example after the disk was full.
      for (const id of ids) this.#changed.add(id)
      throw error
    }
  }

  get #held(): Removal[] {
    return [...this.#removals.values()].filter((one) => !one.isApproved && !one.isPassed && !one.isResting)
  }

  /** When the first held delete was found, because all belong together, however long the answer takes; or else now. */
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
