/** Finds bookmarks that look new but were moved: by cut and paste, Undo, or tools that copy and then delete. */
import type { PlaintextBookmark } from '../client/bookmark.ts'
import { paced } from '../client/timing/paced.ts'
import { type Pairing, pair, type Trees } from './pair.ts'
import {
  type BrowserEntry,
  type Content,
  isSameContent,
  type Kind,
  likenessOf,
  newBookmark,
  rootKey,
  titleLikenessOf,
  toEntry,
  topLevel,
} from './trees.ts'

export interface RecentTrees extends Trees {
  /** Bookmarks that this or another device deleted lately (`RemovalGuard.deletedLately`), by id. */
  deleted: ReadonlyMap<string, Readonly<PlaintextBookmark>>
  /** The time by the browser's clock (Unix ms). */
  now: number
}

/** A copy younger than this (ms) replaces its original, if that is deleted. */
const freshMs = 60_000
/** A folder counts as moved if at least this share of its contents is gone from the browser. */
export const leastShare = 0.5

/**
 * Pairs new entries, and copies of the last minute, with entries of the same kind, title and address that the browser
 * no longer has: the nearest one, or for folders the one with most contents in common. Folders pair only if enough of
 * their contents (`leastShare`) are gone from the browser, too. So a moved bookmark keeps its id, tags and history.
 *
 * @returns the ids of paired copies that the service has already: the originals' ids replace them
 */
export async function pairMoved(parts: RecentTrees, pairing: Pairing): Promise<ReadonlySet<string>> {
  const replaced = new Set<string>()
  const { agreed, browser, service } = parts
  const take = findGone(parts, pairing)
  if (!take) return replaced
  const match = (entry: BrowserEntry, isOf: typeof isNew) => {
    const id = pairing.idOf.get(entry.browserId) as string
    if (!isOf(entry, id)) return
    const found = take(entry, isOf === isCopy)
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

/** True if it was made recently in this browser and has not been edited since. */
function isFreshCopy(entry: BrowserEntry, id: string, { agreed, service, now }: RecentTrees): boolean {
  if (Math.abs(now - (entry.dateAdded ?? 0)) >= freshMs) return false
  const [row, there] = [agreed.rows.get(id), service.entries.get(id)]
  if (!row || there?.parent !== row.parent || !isSameContent(there, row.content)) return false
  const made = newBookmark(id, entry, {})
  const isOwn = (name: string) => name in made || name === 'parentId' || name === 'position'
  return there.bookmark.dateAdded === made.dateAdded && Object.keys(there.bookmark).every(isOwn)
}

/**
 * Indexes the entries that the browser no longer has. Returns undefined if there are none, otherwise a function that finds
 * for a new entry or a copy the id of the one that it was, each id only once. A copy gets no original newer than itself.
 */
function findGone({ agreed, browser, service, deleted }: RecentTrees, pairing: Pairing) {
  /** Ids of missing entries, by likeness and former folder. */
  const alike = new Map<string, Map<string, string[]>>()
  /** Likenesses of missing entries, by former folder. */
  const insideOf = new Map<string, string[]>()
  const taken = new Set<string>()
  for (const {
    id,
    browserId,
    kind,
    content,
    shown = content,
    parent,
    refused,
    step,
    leftOut,
  } of agreed.rows.values()) {
    const wasThere = browserId !== null || !(refused || step?.kind === 'creating')
    const there = service.entries.get(id)
    if (!wasThere || pairing.browserIdOf.has(id) || there?.kind !== kind || leftOut) continue
    const before = { kind, ...shown }
    enter(id, before, parent)
    // After a crash, the browser may have a newer state than the row.
    if (likenessWithTitle(before) !== likenessWithTitle(there)) enter(id, there, parent)
  }
  for (const [id, bookmark] of deleted) {
    const parent = keyOf(bookmark.parentId)
    if (!agreed.rows.has(id) && !pairing.browserIdOf.has(id)) enter(id, toEntry(bookmark, parent), parent)
  }
  return alike.size > 0 ? take : undefined

  function enter(id: string, content: Content & { kind: Kind }, parent: string): void {
    const likeness = likenessWithTitle(content)
    const places = alike.get(likeness) ?? new Map<string, string[]>()
    alike.set(likeness, places)
    append(places, parent, id)
    append(insideOf, parent, likeness)
  }

  function take(entry: BrowserEntry, isCopy: boolean): string | undefined {
    const places = alike.get(likenessWithTitle(entry))
    if (!places) return undefined
    const { entries, lists } = browser
    const here = (lists.get(entry.browserId) ?? []).flatMap((id) => entries.get(id) ?? []).map(likenessWithTitle)
    if (here.filter((likeness) => alike.has(likeness)).length < leastShare * here.length) return undefined
    const found = [...places].flatMap(([parent, all]) => {
      const ids = all.filter((id) => !taken.has(id) && !(isCopy && isMadeAfter(id, entry)))
      return (entry.kind === 'folder' ? ids : ids.slice(0, 1)).flatMap((id) => {
        const inside = new Set(insideOf.get(id))
        const shared = here.filter((likeness) => inside.has(likeness)).length
        return here.length > 0 || inside.size === 0 ? [{ parent, id, shared }] : []
      })
    })
    if (found.length > 1) {
      const far = new Map(found.map(({ parent }) => [parent, distance(entry, parent)]))
      const farOf = ({ parent }: { parent: string }) => far.get(parent) as number
      found.sort((one, other) => other.shared - one.shared || farOf(one) - farOf(other))
    }
    const id = found[0]?.id
    if (id !== undefined) taken.add(id)
    return id
  }

  function isMadeAfter(id: string, { dateAdded = 0 }: BrowserEntry): boolean {
    return (agreed.rows.get(id)?.dateAdded ?? Date.parse(`${deleted.get(id)?.dateAdded}`)) > dateAdded
  }

  /** The number of steps up and down between the two folders. */
  function distance({ parent }: BrowserEntry, folder: string): number {
    const ownPath = pathUp(pairing.keyOf(parent), (key) => {
      const around = browser.entries.get(pairing.browserIdOf.get(key) ?? '')?.parent
      return around === undefined ? undefined : pairing.keyOf(around)
    })
    const isDeleted = (key: string) => deleted.has(key) && !agreed.rows.has(key)
    const path = pathUp(folder, (key) =>
      isDeleted(key) ? keyOf(deleted.get(key)?.parentId) : agreed.rows.get(key)?.parent,
    )
    const up = ownPath.findIndex((key) => path.includes(key))
    return up === -1 ? ownPath.length + path.length : up + path.indexOf(ownPath[up] as string)
  }

  function keyOf(parentId: string | undefined): string {
    const role = [...service.marked].find(([, id]) => id === parentId)?.[0]
    return role ? rootKey(role) : (parentId ?? topLevel)
  }
}

/** Changes the list in place, because thousands may be missing from a folder. */
function append(lists: Map<string, string[]>, key: string, item: string): void {
  const list = lists.get(key)
  if (list) list.push(item)
  else lists.set(key, [item])
}

function pathUp(start: string, around: (key: string) => string | undefined): string[] {
  const path: string[] = []
  for (let key: string | undefined = start; key !== undefined && !path.includes(key); key = around(key)) path.push(key)
  return path
}

function likenessWithTitle(content: Content & { kind: Kind }): string {
  return `${likenessOf(content)}\n${titleLikenessOf(content.title)}`
}
