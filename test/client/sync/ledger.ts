import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { viewOf } from '../../../src/client/sync/row.ts'
import type { Row, Store, Waiting } from '../../../src/client/sync/store.ts'

/**
 * EXCLUDED until sync events say what they overwrote (`overwritten`): a version that the service had accepted, that a
 * device overwrote unseen and then edited again before its maker pulled. True: nothing is left out.
 */
const eventsNameOverwritten = true

/** An edit as its device stored it. */
interface Entry {
  event: string
  id: string
  device: string
  /** JSON of the bookmark; `null` of a delete. */
  content: string
  /** Events of what its maker saw when it was made. */
  madeOn: string[]
  /** Its device was told that it lost, or took it back itself before it was sent. */
  isAccountedFor: boolean
}

/** Every edit of a walk, written down as it reaches a device's store. */
export class Ledger {
  readonly entries = new Map<string, Entry>()

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

  /** A device was told that this content of its own lost. */
  report(device: string, id: string, mine: PlaintextBookmark | null): void {
    const content = contentOf(mine)
    for (const entry of this.entries.values()) {
      if (entry.device === device && entry.id === id && entry.content === content) entry.isAccountedFor = true
    }
  }

  /** Edits that are neither there, nor reported, nor followed by one that was made on them and is. */
  lost(final: Map<string, PlaintextBookmark>): Entry[] {
    const found = new Set<Entry>()
    const isThere = ({ id, content }: Entry) => content === contentOf(final.get(id) ?? null)
    const entries = [...this.entries.values()]
    for (let size = -1; size < found.size; ) {
      size = found.size
      for (const entry of entries) {
        const followers = entries.filter((other) => found.has(other) && other.id === entry.id)
        const isKept = followers.some(
          ({ madeOn, content }) => content === entry.content || madeOn.includes(entry.event),
        )
        if (entry.isAccountedFor || isThere(entry) || isKept) found.add(entry)
      }
    }
    return entries.filter((entry) => !found.has(entry))
  }

  #note(before: Row | undefined, after: Row, device: string): void {
    const last = after.waiting.at(-1)
    const previous = before?.waiting.at(-1)
    if (last && !this.entries.has(last.change.id)) this.#enter(before, last, device)
    const isUnsent = previous && !previous.sent && !last
    // Taken back before anybody had it.
    const isWithdrawn =
      isUnsent && viewOf(after).bookmark === null && after.version?.event_id === before?.version?.event_id
    const entry = previous && this.entries.get(previous.change.id)
    if (entry && isWithdrawn) entry.isAccountedFor = true
    const accepted = this.entries.get(after.version?.event_id ?? '')
    if (accepted && !eventsNameOverwritten) accepted.isAccountedFor = true
  }

  #enter(before: Row | undefined, { change, bookmark }: Waiting, device: string): void {
    const seen = before?.waiting.at(-1)?.change.id ?? before?.version?.event_id
    this.entries.set(change.id, {
      event: change.id,
      id: change.entity_id,
      device,
      content: contentOf(bookmark),
      madeOn: seen === undefined ? [] : [seen],
      isAccountedFor: false,
    })
  }
}

/** Sorted as the record is, so that equal bookmarks are equal. */
function contentOf(bookmark: PlaintextBookmark | null): string {
  if (!bookmark) return 'null'
  return JSON.stringify(Object.entries(bookmark).sort(([one], [other]) => (one < other ? -1 : 1)))
}
