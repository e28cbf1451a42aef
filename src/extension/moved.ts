/** What the browser made anew though it was only moved: cut and paste, undo, and tools that copy and then delete. */
import type { PlaintextBookmark } from '../client/bookmark.ts'
import { paced } from '../client/timing/paced.ts'
import type { AgreedRow } from './agreed.ts'
import { type Pairing, pair } from './pair.ts'
import {
  type BrowserEntry,
  type BrowserTree,
  type Content,
  isSameContent,
  type Kind,
  likenessOf,
  newBookmark,
  rootKey,
  type ServiceTree,
  titleLikenessOf,
  toEntry,
  topLevel,
} from './trees.ts'

export interface MoveParts {
  agreed: { rows: ReadonlyMap<string, AgreedRow> }
  browser: BrowserTree
  service: ServiceTree
  /** What was deleted in the browser and passed on in the last minutes. */
  deleted: ReadonlyMap<string, Readonly<PlaintextBookmark>>
  /** By the browser's clock (Unix ms). */
  now: number
}

/** A copy that is no older takes the place of the original, if that is deleted. */
const freshMs = 60_000
/** A folder is the same if so much of what is in it is gone elsewhere. */
const leastShare = 0.5

/**
 * Pairs what is new in the browser with what is gone from it and has the same kind, title and address, the nearest first;
 * folders if what is in them is gone elsewhere, too. So it keeps its id, and with that its tags and its history.
 *
 * @returns ids of copies that the service has already, and that are now the originals
 */
export async function pairMoved(parts: MoveParts, pairing: Pairing): Promise<ReadonlySet<string>> {
  const replaced = new Set<string>()
  const { agreed, browser, service } = parts
  const gone = new Gone(parts, pairing)
  if (gone.isEmpty) return replaced
  const match = (entry: BrowserEntry, isOf: typeof isNew) => {
    const id = pairing.idOf.get(entry.browserId) as string
    if (!isOf(entry, id)) return
    const found = gone.take(entry, isOf === isCopy)
    if (found === undefined) return
    if (service.entries.has(id)) replaced.add(id)
    pairing.browserIdOf.delete(id)
    pair(pairing, entry, found)
  }
  const isNew = (_: BrowserEntry, id: string) => !agreed.rows.has(id) && !service.entries.has(id)
  const isCopy = (entry: BrowserEntry, id: string) => isFreshCopy(entry, id, parts)
  for (const isOf of [isNew, isCopy]) await paced(browser.entries.values(), (entry) => match(entry, isOf))
  return replaced
}

/** True if it was made in this browser, and nobody has changed it since. */
function isFreshCopy(entry: BrowserEntry, id: string, { agreed, service, now }: MoveParts): boolean {
  if (Math.abs(now - (entry.dateAdded ?? 0)) >= freshMs) return false
  const [row, there] = [agreed.rows.get(id), service.entries.get(id)]
  if (!row || there?.parent !== row.parent || !isSameContent(there, row.content)) return false
  const made = newBookmark(id, entry, {})
  const isOwn = (name: string) => name in made || name === 'parentId' || name === 'position'
  return there.bookmark.dateAdded === made.dateAdded && Object.keys(there.bookmark).every(isOwn)
}

/** What the browser has no longer where it was. */
class Gone {
  readonly #parts: MoveParts
  readonly #pairing: Pairing
  /** By what they show and the folder in which they were: their ids. */
  readonly #alike = new Map<string, Map<string, string[]>>()
  /** By the folder in which they were: what they show. */
  readonly #inside = new Map<string, string[]>()
  readonly #taken = new Set<string>()

  constructor(parts: MoveParts, pairing: Pairing) {
    this.#parts = parts
    this.#pairing = pairing
    const { agreed, service, deleted } = parts
    for (const row of agreed.rows.values()) {
      const { id, browserId, kind, content, shown = content, parent } = row
      const wasThere = browserId !== null || !(row.refused || row.step?.kind === 'creating')
      const there = service.entries.get(id)
      if (!wasThere || pairing.browserIdOf.has(id) || there?.kind !== kind || row.leftOut) continue
      const before = { kind, ...shown }
      this.#enter(id, before, parent)
      // After a crash, the browser may show what is newer than the row.
      if (showing(before) !== showing(there)) this.#enter(id, there, parent)
    }
    for (const [id, bookmark] of deleted) {
      const isGone = !agreed.rows.has(id) && !pairing.browserIdOf.has(id)
      const parent = this.#keyOf(bookmark.parentId)
      if (isGone) this.#enter(id, toEntry(bookmark, parent), parent)
    }
  }

  get isEmpty(): boolean {
    return this.#alike.size === 0
  }

  #enter(id: string, content: Content & { kind: Kind }, parent: string): void {
    const likeness = showing(content)
    const places = this.#alike.get(likeness) ?? new Map<string, string[]>()
    this.#alike.set(likeness, places)
    append(places, parent, id)
    append(this.#inside, parent, likeness)
  }

  /** Returns the id of the one that this entry is, and gives it to no other one. A copy is made after its original. */
  take(entry: BrowserEntry, isCopy: boolean): string | undefined {
    const places = this.#alike.get(showing(entry))
    if (!places) return undefined
    const { entries, lists } = this.#parts.browser
    const here = (lists.get(entry.browserId) ?? []).flatMap((id) => entries.get(id) ?? []).map(showing)
    if (here.filter((likeness) => this.#alike.has(likeness)).length < leastShare * here.length) return undefined
    const found = [...places].flatMap(([parent, all]) => {
      const ids = all.filter((id) => !this.#taken.has(id) && !(isCopy && this.#isMadeAfter(id, entry)))
      return (entry.kind === 'folder' ? ids : ids.slice(0, 1)).flatMap((id) => {
        const inside = new Set(this.#inside.get(id))
        const shared = here.filter((likeness) => inside.has(likeness)).length
        return here.length > 0 || inside.size === 0 ? [{ parent, id, shared }] : []
      })
    })
    if (found.length > 1) {
      const far = new Map(found.map(({ parent }) => [parent, this.#distance(entry, parent)]))
      const distance = ({ parent }: { parent: string }) => far.get(parent) as number
      found.sort((one, other) => other.shared - one.shared || distance(one) - distance(other))
    }
    const id = found[0]?.id
    if (id !== undefined) this.#taken.add(id)
    return id
  }

  #isMadeAfter(id: string, { dateAdded = 0 }: BrowserEntry): boolean {
    const { agreed, deleted } = this.#parts
    return (agreed.rows.get(id)?.dateAdded ?? Date.parse(`${deleted.get(id)?.dateAdded}`)) > dateAdded
  }

  /** By how many folders one goes up and down from the one to the other. */
  #distance({ parent }: BrowserEntry, folder: string): number {
    const { agreed, browser, deleted } = this.#parts
    const ownWay = wayUp(this.#pairing.keyOf(parent), (key) => {
      const around = browser.entries.get(this.#pairing.browserIdOf.get(key) ?? '')?.parent
      return around === undefined ? undefined : this.#pairing.keyOf(around)
    })
    const isDeleted = (key: string) => deleted.has(key) && !agreed.rows.has(key)
    const way = wayUp(folder, (key) =>
      isDeleted(key) ? this.#keyOf(deleted.get(key)?.parentId) : agreed.rows.get(key)?.parent,
    )
    const up = ownWay.findIndex((key) => way.includes(key))
    return up === -1 ? ownWay.length + way.length : up + way.indexOf(ownWay[up] as string)
  }

  #keyOf(parentId: string | undefined): string {
    const role = [...this.#parts.service.marked].find(([, id]) => id === parentId)?.[0]
    return role ? rootKey(role) : (parentId ?? topLevel)
  }
}

/** In place: of a folder, thousands may be gone. */
function append(lists: Map<string, string[]>, key: string, item: string): void {
  const list = lists.get(key)
  if (list) list.push(item)
  else lists.set(key, [item])
}

function wayUp(start: string, around: (key: string) => string | undefined): string[] {
  const way: string[] = []
  for (let key: string | undefined = start; key !== undefined && !way.includes(key); key = around(key)) way.push(key)
  return way
}

function showing(content: Content & { kind: Kind }): string {
  return `${likenessOf(content)}\n${titleLikenessOf(content.title)}`
}
