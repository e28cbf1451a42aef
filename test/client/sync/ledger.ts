import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import type { Conflict } from '../../../src/client/sync/store/emitter.ts'
import { viewOf } from '../../../src/client/sync/store/row.ts'
import type { Row, Store, Waiting } from '../../../src/client/sync/store/store.ts'

/** A version as its device stored it: an edit, or the merge of an edit and what came meanwhile. */
interface Entry {
  event: string
  id: string
  device: string
  fields: Fields
  /** The names of the fields that its maker changed; none of a merge. */
  changed: string[]
  /** Events of what its maker saw when it was made. */
  madeOn: string[]
  /** Events of what it was merged from, of which it may have lost something. */
  mergedFrom: string[]
  /** Its device keeps that it lost. */
  isReported: boolean
  /** Its device took it back before it was sent. */
  isWithdrawn: boolean
}

/** JSON of a bookmark's fields by name: its place is one, and each tag is one. */
type Fields = Map<string, string>

/** Every edit of a walk, written down as it reaches a device's store. */
export class Ledger {
  readonly #entries = new Map<string, Entry>()
  readonly #wrong: unknown[] = []
  /** By event, of which version it is the same one under other keys, unless the event's name says so. */
  readonly #resealed = new Map<string, string>()
  /** Contents that a device sent under new keys as its own change: it is told of what is overwritten of them. */
  readonly #heralds: Pick<Entry, 'id' | 'device' | 'fields'>[] = []

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

  /**
   * What is wrong in the end: fields of an edit that are neither there, nor reported, nor changed by an edit that was made
   * on it; what was taken back, but is there; edits that lost against what they were made on.
   */
  faults(final: Map<string, PlaintextBookmark>): unknown[] {
    const entries = [...this.#entries.values()]
    const ends = new Map(entries.map(({ id }) => [id, fieldsOf(final.get(id) ?? null)]))
    const lost = entries.flatMap((entry) => {
      const end = ends.get(entry.id) as Fields
      const names = entry.changed.filter((name) => !this.#isAccountedFor(entry, name, end, new Set()))
      return names.length > 0 ? { lost: names, ...entry } : []
    })
    const cameBack = entries.filter((entry) => {
      const unique = entry.changed.filter((name) => name === 'title' || name === 'description')
      const end = ends.get(entry.id) as Fields
      return entry.isWithdrawn && unique.some((name) => entry.fields.has(name) && isSame(entry.fields, end, name))
    })
    return [...lost, ...cameBack, ...this.#wrong]
  }

  /** Whether this field of an entry is there in the end, or its device was told, or somebody who saw it changed it. */
  #isAccountedFor(entry: Entry, name: string, end: Fields, visited: Set<Entry>): boolean {
    if (entry.isReported || entry.isWithdrawn || isSame(entry.fields, end, name)) return true
    if (visited.has(entry)) return false
    visited.add(entry)
    const others = [...this.#entries.values()].filter(({ id }) => id === entry.id)
    return others.some((other) => {
      const isKept = isSame(entry.fields, other.fields, name)
      if (other.madeOn.includes(entry.event) && !isKept) return true
      if (this.#isMadeAgain(entry, other, name)) return true
      const isFollower = [...other.madeOn, ...other.mergedFrom].includes(entry.event)
      // Who changes what one of two devices made of it sees the other's too, where they are the same.
      const isTwin = isEqual(entry, other) || (isFirst(entry) && isFirst(other))
      if (isKept && this.#isMadeOn(entry, other.event) && this.#isChangedBeside(entry, other, name)) return true
      return isKept && (isFollower || isTwin) && this.#isAccountedFor(other, name, end, visited)
    })
  }

  /** Whether a device that knew no more than `origin` changed this field: to it, there and back again is no change. */
  #isChangedBeside(entry: Entry, origin: Entry, name: string): boolean {
    return [...this.#entries.values()].some(({ event, madeOn, fields }) => {
      return madeOn.includes(origin.event) && !isSame(fields, origin.fields, name) && !this.#isMadeOn(entry, event)
    })
  }

  /**
   * Whether `other` is an edit whose answer was lost, made again on top of this entry, which had seen it and taken this field
   * back: its device finds what it had started from.
   */
  #isMadeAgain(entry: Entry, other: Entry, name: string): boolean {
    if (!other.mergedFrom.includes(entry.event)) return false
    return other.mergedFrom.some((event) => {
      const first = this.#entries.get(event)
      if (!first || !this.#isMadeOn(entry, event) || !isSame(first.fields, other.fields, name)) return false
      const origins = first.madeOn.flatMap((origin) => this.#entries.get(origin) ?? [])
      return origins.some(({ fields }) => isSame(fields, entry.fields, name))
    })
  }

  /** A device has stored that an edit of its own lost. */
  #report(device: string, { id, mine, theirs }: Conflict): void {
    const isHerald = this.#heralds.some((one) => one.device === device && isEqual(one, { id, fields: fieldsOf(mine) }))
    const lost = this.#find(id, mine).filter((entry) => entry.device === device || isHerald)
    for (const entry of lost) entry.isReported = true
    // Which of several edits with the same content is meant cannot be told: with each of them it would have to be wrong.
    const winners = this.#find(id, theirs)
    const isWrong = lost.every((entry) => winners.every(({ event }) => this.#isMadeOn(entry, event)))
    if (mine && theirs && isWrong && !isHerald) this.#wrong.push({ id, mine, theirs })
  }

  #note(before: Row | undefined, after: Row, device: string): void {
    const last = after.waiting.at(-1)
    const previous = before?.waiting.at(-1)
    this.#noteResealed(before, after, device)
    const winner = this.#edit(after.version?.event_id)
    const isSameVersion = winner === this.#edit(before?.version?.event_id)
    const isSettled = before?.waiting.some(({ change }) => change.id === winner)
    const isMerged = previous !== undefined && !isSameVersion && !isSettled
    if (last && !this.#entries.has(last.change.id)) {
      if (isMerged) this.#enter(last, device, { changed: [], madeOn: [], mergedFrom: [previous.change.id, winner] })
      else this.#enterEdit(before, last, device)
    } else if (!last && isMerged) {
      this.#entries.get(winner)?.mergedFrom.push(previous.change.id)
    }
    for (const conflict of after.conflicts) {
      if (!before?.conflicts.includes(conflict)) this.#report(device, conflict)
    }
    const entry = this.#entries.get(previous?.change.id ?? '')
    if (entry && !last && isSameVersion && viewOf(after).bookmark === null && !entry.isReported) {
      entry.isWithdrawn = true
    }
  }

  /** The edit that an event is, whatever keys it is under. */
  #edit(event = ''): string {
    const named = event.replace(/~\d{3}$/, '')
    const earlier = this.#resealed.get(named)
    return earlier === undefined ? named : this.#edit(earlier)
  }

  #noteResealed(before: Row | undefined, after: Row, device: string): void {
    const [known, event] = [this.#edit(before?.version?.event_id), this.#edit(after.version?.event_id)]
    if (!before?.version?.bookmark || !after.version?.bookmark) return
    if (known !== event && this.#entries.has(event)) return
    const [content, same] = [before, after].map(({ id, version }) => ({
      id,
      fields: fieldsOf(version?.bookmark ?? null),
    }))
    if (!content || !same || !isEqual(content, same)) return
    if (known !== event) this.#resealed.set(event, known)
    const isOwnNow = after.version.device_id === device && before.version.device_id !== device
    if (isOwnNow) this.#heralds.push({ ...content, device })
  }

  #enterEdit(before: Row | undefined, last: Waiting, device: string): void {
    const version = before?.version && this.#edit(before.version.event_id)
    const seen = before?.waiting.at(-1)?.change.id ?? version ?? undefined
    const [fields, shown] = [fieldsOf(last.bookmark), fieldsOf(viewOf(before).bookmark)]
    const changed = [...new Set([...fields.keys(), ...shown.keys()])].filter((name) => !isSame(fields, shown, name))
    this.#enter(last, device, { changed, madeOn: seen === undefined ? [] : [seen], mergedFrom: [] })
  }

  #enter(
    { change, bookmark }: Waiting,
    device: string,
    origin: Pick<Entry, 'changed' | 'madeOn' | 'mergedFrom'>,
  ): void {
    const { id: event, entity_id: id } = change
    const fields = fieldsOf(bookmark)
    this.#entries.set(event, { event, id, device, fields, ...origin, isReported: false, isWithdrawn: false })
  }

  #find(id: string, bookmark: PlaintextBookmark | null): Entry[] {
    const content = { id, fields: fieldsOf(bookmark) }
    return [...this.#entries.values()].filter((entry) => isEqual(entry, content))
  }

  #isMadeOn({ madeOn, mergedFrom }: Entry, winner: string): boolean {
    return [...madeOn, ...mergedFrom].some((event) => {
      const earlier = this.#entries.get(event)
      return event === winner || (earlier !== undefined && this.#isMadeOn(earlier, winner))
    })
  }
}

function fieldsOf(bookmark: PlaintextBookmark | null): Fields {
  if (!bookmark) return new Map([['is deleted', 'true']])
  const { parentId, position, tags = [], ...rest } = bookmark
  const named = Object.entries({ ...rest, place: [parentId, position] })
  return new Map([
    ...named.map(([name, value]) => [name, JSON.stringify(value)] as const),
    ...tags.map((tag) => [`tag ${tag}`, 'true'] as const),
  ])
}

function isFirst({ madeOn, mergedFrom }: Entry): boolean {
  return madeOn.length + mergedFrom.length === 0
}

function isSame(one: Fields, other: Fields, name: string): boolean {
  return one.get(name) === other.get(name)
}

function isEqual(one: Pick<Entry, 'id' | 'fields'>, other: Pick<Entry, 'id' | 'fields'>): boolean {
  const names = [...one.fields.keys()]
  return (
    one.id === other.id &&
    names.length === other.fields.size &&
    names.every((name) => isSame(one.fields, other.fields, name))
  )
}
