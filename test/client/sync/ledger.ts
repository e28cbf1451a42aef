import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { differingFields } from '../../../src/client/merge.ts'
import type { Conflict } from '../../../src/client/sync/store/emitter.ts'
import { viewOf } from '../../../src/client/sync/store/row.ts'
import type { Row, Store, Version, Waiting } from '../../../src/client/sync/store/store.ts'

/** An edit as its device stored it. */
interface Entry {
  event: string
  id: string
  device: string
  /** JSON of the bookmark; `null` of a delete. */
  content: string
  /** Events of what its maker saw when it was made; of what it was merged from, those of which it keeps every change. */
  madeOn: string[]
  /** Its device keeps that it lost. */
  isReported: boolean
  /** Its device took it back before it was sent. */
  isWithdrawn: boolean
}

/** Every edit of a walk, written down as it reaches a device's store. */
export class Ledger {
  readonly #entries = new Map<string, Entry>()
  readonly #wrong: unknown[] = []

  /** The store as a device's engine sees it, until the device dies: then nothing is answered any more. */
  watch(store: Store, device: string): { store: Store; die(): void } {
    let isDead = false
    const alive = async <T>(work: () => Promise<T>): Promise<T> => (isDead ? new Promise<T>(() => {}) : work())
    const watched: Store = {
      shared: false,
      load: () => alive(() => store.load()),
      read: (ids) => alive(() => store.read(ids)),
      write: (rows, meta) =>
        alive(async () => {
          const before = new Map((await store.read(rows.map(({ id }) => id))).rows.map((row) => [row.id, row]))
          await store.write(rows, meta)
          for (const row of rows) this.#note(before.get(row.id), row, device)
        }),
      wipe: () => alive(() => store.wipe()),
      close() {},
    }
    return {
      store: watched,
      die() {
        isDead = true
      },
    }
  }

  /** A device has stored that an edit of its own lost. */
  #report(device: string, { id, mine, theirs }: Conflict): void {
    const lost = this.#find(id, contentOf(mine)).filter((entry) => entry.device === device)
    for (const entry of lost) entry.isReported = true
    // Which of several edits with the same content is meant cannot be told: with each of them it would have to be wrong.
    const winners = this.#find(id, contentOf(theirs))
    const isWrong = lost.every((entry) => winners.every(({ event }) => this.#isMadeOn(entry, event)))
    if (mine && theirs && isWrong) this.#wrong.push({ id, mine, theirs })
  }

  /**
   * What is wrong in the end: edits that are neither there, nor reported, nor followed by one that was made on them and
   * is; what was taken back, but is there; edits that lost against what they were made on.
   */
  faults(final: Map<string, PlaintextBookmark>): unknown[] {
    const entries = [...this.#entries.values()]
    const isThere = ({ id, content }: Entry) => content === contentOf(final.get(id) ?? null)
    const kept = new Set(entries.filter((entry) => entry.isReported || entry.isWithdrawn || isThere(entry)))
    for (let size = 0; size < kept.size; ) {
      size = kept.size
      for (const entry of entries) {
        const followers = [...kept].filter(({ id }) => id === entry.id)
        const isFollowed = followers.some(({ content, madeOn }) => {
          return content === entry.content || madeOn.includes(entry.event)
        })
        if (isFollowed) kept.add(entry)
      }
    }
    const lost = entries.filter((entry) => !kept.has(entry))
    const cameBack = entries.filter((entry) => entry.isWithdrawn && isThere(entry))
    return [...lost, ...cameBack, ...this.#wrong]
  }

  #note(before: Row | undefined, after: Row, device: string): void {
    const last = after.waiting.at(-1)
    const previous = before?.waiting.at(-1)
    const isSettled = before?.waiting.some(({ change }) => change.id === after.version?.event_id)
    const isSameVersion = after.version?.event_id === before?.version?.event_id
    const isMerged = previous !== undefined && !isSameVersion && !isSettled && after.version !== null
    if (last && !this.#entries.has(last.change.id)) {
      const merged = isMerged
        ? mergedFrom(before?.version, [previous, after.version as Version], last.bookmark)
        : undefined
      this.#enter(last, device, merged ?? [previous?.change.id ?? before?.version?.event_id ?? []].flat())
    } else if (!last && isMerged) {
      const winner = this.#entries.get(after.version?.event_id ?? '')
      winner?.madeOn.push(...mergedFrom(before?.version, [previous], after.version?.bookmark ?? null))
    }
    for (const conflict of after.conflicts) {
      if (!before?.conflicts.includes(conflict)) this.#report(device, conflict)
    }
    const entry = this.#entries.get(previous?.change.id ?? '')
    if (entry && !last && isSameVersion && viewOf(after).bookmark === null && !entry.isReported) {
      entry.isWithdrawn = true
    }
  }

  #enter({ change, bookmark }: Waiting, device: string, madeOn: string[]): void {
    this.#entries.set(change.id, {
      event: change.id,
      id: change.entity_id,
      device,
      content: contentOf(bookmark),
      madeOn,
      isReported: false,
      isWithdrawn: false,
    })
  }

  #find(id: string, content: string): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.id === id && entry.content === content)
  }

  #isMadeOn({ madeOn }: Entry, winner: string): boolean {
    return madeOn.some((event) => {
      const earlier = this.#entries.get(event)
      return event === winner || (earlier !== undefined && this.#isMadeOn(earlier, winner))
    })
  }
}

/** The events of those versions of which the result keeps every change since the base. */
function mergedFrom(
  base: Version | null | undefined,
  versions: (Waiting | Version)[],
  result: PlaintextBookmark | null,
): string[] {
  const blank: PlaintextBookmark = { id: '', title: '', source: 'bookmarks' }
  return versions.flatMap((version) => {
    const { bookmark } = version
    if (!bookmark || !result) return bookmark === result ? eventOf(version) : []
    const changed = differingFields(base?.bookmark ?? blank, bookmark)
    const lost = differingFields(bookmark, result).filter((name) => {
      return name === 'tags' ? !keepsTags(base?.bookmark, bookmark, result) : changed.includes(name)
    })
    return lost.length > 0 ? [] : eventOf(version)
  })
}

/** Whether all that was added is there, and nothing that was removed. */
function keepsTags(base: PlaintextBookmark | null | undefined, edited: PlaintextBookmark, result: PlaintextBookmark) {
  const [before = [], after = [], kept = []] = [base?.tags, edited.tags, result.tags]
  const changed = [...before, ...after].filter((tag) => before.includes(tag) !== after.includes(tag))
  return changed.every((tag) => kept.includes(tag) === after.includes(tag))
}

function eventOf(version: Waiting | Version): string {
  return 'change' in version ? version.change.id : version.event_id
}

/** Sorted as the record is, so that equal bookmarks are equal. */
function contentOf(bookmark: PlaintextBookmark | null): string {
  if (!bookmark) return 'null'
  return JSON.stringify(Object.entries(bookmark).sort(([one], [other]) => (one < other ? -1 : 1)))
}
