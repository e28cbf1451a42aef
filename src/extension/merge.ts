import type { PlaintextBookmark } from '../client/bookmark.ts'
import { paced } from '../client/timing/paced.ts'
import type { AgreedRow } from './agreed.ts'
import { pairMoved, type RecentTrees } from './moved.ts'
import { mergeOrder } from './order.ts'
import { type Pairing, pairTrees } from './pair.ts'
import type { RemovalGuard } from './removal-guard.ts'
import {
  type BrowserEntry,
  type Content,
  contentOf,
  isSameContent,
  type Kind,
  type ServiceEntry,
  titleLikenessOf,
} from './trees.ts'

/** An entry that both sides will have. */
export interface MergedEntry {
  id: string
  kind: Kind
  /** The key of the folder around it, as in `ServiceEntry`. */
  parent: string
  row: AgreedRow | undefined
  browser: BrowserEntry | undefined
  service: ServiceEntry | undefined
  /** Its content before it was deleted, if it is restored now. */
  before: Readonly<PlaintextBookmark> | undefined
  forBrowser: Content
  forService: Content
  /** True if both sides changed the same field to different values. The browser's wins; the other becomes a conflict. */
  isConflict: boolean
}

/** If the extension created a bookmark longer ago than this (ms), its delete does not count as Chrome's Undo. */
const undoMs = 300_000

/** The tree for both sides, and the entries to delete from each. */
export interface Merged {
  /** Keyed by id, in no particular order. */
  entries: Map<string, MergedEntry>
  /** The ids of a folder's entries in order, by the folder's key. */
  orders: Map<string, string[]>
  /** Deleted at the service; still to be deleted in the browser. Folders come before their contents. */
  leavingBrowser: BrowserEntry[]
  /** Deleted in the browser; still to be deleted at the service. */
  leavingService: ServiceEntry[]
  /** Ids from `leavingService` of bookmarks that are still in the browser under another id. */
  replaced: ReadonlySet<string>
  /** Ids of agreed rows that neither side has any longer. */
  forgotten: string[]
  pairing: Pairing
}

/**
 * Compares both sides with what they last agreed on, and applies the changes of each side to the other. An entry that one
 * side deleted and the other changed stays, with the folders around it. If both changed the same field, the browser wins,
 * because the user sees its value.
 *
 * @param guard decides which of the browser's deletes are passed on; the others wait
 */
export async function mergeTrees(trees: RecentTrees, guard: Pick<RemovalGuard, 'release' | 'rests'>): Promise<Merged> {
  const { agreed, browser, service, deleted } = trees
  const pairing = await pairTrees(trees)
  const replaced = await pairMoved(trees, pairing)
  const { idOf, browserIdOf, keyOf } = pairing
  const merged: Merged = {
    entries: new Map(),
    orders: new Map(),
    leavingBrowser: [],
    leavingService: [],
    replaced,
    forgotten: [],
    pairing,
  }
  const leaving = new Map<string, { browser?: BrowserEntry; service?: ServiceEntry }>()

  const keep = (id: string, browser: BrowserEntry | undefined, service: ServiceEntry | undefined) => {
    const row = agreed.rows.get(id)
    const parentThere = browser && keyOf(browser.parent)
    const isMoved = parentThere !== undefined && (!service || (row && parentThere !== row.parent))
    const parent = (isMoved ? parentThere : service?.parent) as string
    const kind = (browser ?? service)?.kind as Kind
    const before = row || service ? undefined : deleted.get(id)
    const content = mergeContent(row, browser, service)
    merged.entries.set(id, { id, kind, parent, row, browser, service, before, ...content })
  }
  const decideHere = (entry: BrowserEntry) => {
    const id = idOf.get(entry.browserId) as string
    const row = agreed.rows.get(id)
    const there = service.entries.get(id)
    if (there?.kind === entry.kind) return keep(id, entry, there)
    // Another client has changed its kind, which a browser cannot: this node goes, and a new one is created.
    if (there) return leaving.set(id, { browser: entry })
    const isSame = row && isSameContent(entry, row.shown ?? row.content) && keyOf(entry.parent) === row.parent
    if (row?.refused?.by === 'service' && isSame) return undefined
    if (row?.step?.kind !== 'adding' && isSame) return leaving.set(id, { browser: entry })
    return keep(id, entry, undefined)
  }
  await paced(browser.entries.values(), decideHere)
  const decideThere = (entry: ServiceEntry) => {
    const { id } = entry
    const row = agreed.rows.get(id)
    if (browserIdOf.has(id) || row?.leftOut) return undefined
    // If its folder was deleted, it is shown at the top level, but was not moved.
    const isThere = entry.parent === row?.parent || entry.bookmark.parentId === row?.parent
    const isSame = row && isSameContent(entry, row.content) && isThere
    if (row?.refused?.by === 'browser' && isSameContent(entry, row.content)) return undefined
    // The user has not deleted it: the browser never had it, lost it in a crash, or is to get it back.
    const isLost = row?.browserId === null || row?.step?.kind === 'adding'
    if (isSame && !isLost) return leaving.set(id, { service: entry })
    return row && !isLost && guard.rests(entry) ? undefined : keep(id, undefined, entry)
  }
  await paced(service.entries.values(), decideThere)

  const revive = (id: string) => {
    const gone = leaving.get(id)
    if (!gone) return
    leaving.delete(id)
    keep(id, gone.browser, gone.service)
  }
  do reviveFolders(merged, revive)
  while (cutCycle(merged))
  merged.leavingBrowser = [...leaving.values()].flatMap(({ browser }) => browser ?? [])
  const deletes = [...leaving.values()].flatMap(({ service }) => service ?? [])
  merged.leavingService = [
    ...guard.release(
      deletes.filter(({ id }) => !replaced.has(id)),
      agreed.rows.size,
      findOwn(trees, pairing),
    ),
    ...deletes.filter(({ id }) => replaced.has(id)),
  ]
  for (const row of agreed.rows.values()) {
    if (!service.entries.has(row.id) && !browserIdOf.has(row.id) && !row.leftOut) merged.forgotten.push(row.id)
  }
  await mergeOrders(merged, trees)
  return merged
}

/** Returns a test for deletes that may be Chrome's Undo, which removes the extension's latest bookmark first. */
function findOwn({ agreed: { rows }, now }: RecentTrees, { browserIdOf }: Pairing) {
  const madeAt = (id: string) => {
    const { isOwn, dateAdded = 0 } = rows.get(id) ?? {}
    return isOwn && Math.abs(now - dateAdded) < undoMs ? dateAdded : 0
  }
  let newest = 1
  for (const id of browserIdOf.keys()) newest = Math.max(newest, madeAt(id))
  return ({ id }: ServiceEntry) => madeAt(id) >= newest
}

/** Restores the deleted folders around entries that stay. */
function reviveFolders({ entries }: Merged, revive: (id: string) => void): void {
  // `revive` adds to the map during the iteration, which then also visits the restored folders.
  for (const { parent } of entries.values()) if (!entries.has(parent)) revive(parent)
}

/** If folders were moved into each other, moves them back to where the service has them, and returns true. */
function cutCycle({ entries }: Merged): boolean {
  const settled = new Set<string>()
  for (const start of entries.values()) {
    const path = new Set<MergedEntry>()
    let at: MergedEntry | undefined = start
    while (at && !settled.has(at.id) && !path.has(at)) {
      path.add(at)
      at = entries.get(at.parent)
    }
    if (at && path.has(at)) {
      for (const entry of path) if (entry.service) entry.parent = entry.service.parent
      return true
    }
    for (const { id } of path) settled.add(id)
  }
  return false
}

async function mergeOrders(
  { entries, orders, pairing }: Merged,
  { agreed, browser, service }: RecentTrees,
): Promise<void> {
  const keys = new Set([...entries.values()].map(({ parent }) => parent))
  const folderOf = new Map([...browser.roots].map(([, { browserId }]) => [pairing.keyOf(browserId), browserId]))
  const mergeFolder = (key: string) => {
    const isHere = (id: string | undefined): id is string => id !== undefined && entries.get(id)?.parent === key
    const here = browser.lists.get(folderOf.get(key) ?? pairing.browserIdOf.get(key) ?? '') ?? []
    const there = service.lists.get(key) ?? []
    const order = mergeOrder(
      agreed.orders.get(key) ?? [],
      here.map((id) => pairing.idOf.get(id)).filter(isHere),
      there.map(({ id }) => id).filter(isHere),
    )
    orders.set(key, order)
  }
  await paced(keys, mergeFolder)
}

/** Merges by field. An unchanged field stays as each side has it, because browsers rewrite addresses and titles. */
function mergeContent(
  row: AgreedRow | undefined,
  browser: Content | undefined,
  service: Content | undefined,
): Pick<MergedEntry, 'forBrowser' | 'forService' | 'isConflict'> {
  const forService = contentOf((service ?? browser) as Content)
  const forBrowser = contentOf((browser ?? service) as Content)
  if (!row || !browser || !service)
    return { forService, forBrowser: firstForm(forBrowser, forService), isConflict: false }
  const { content, shown = content } = row
  // After a refusal, each side keeps its version. Once one of them changes, all that was refused counts as changed again.
  const isEdited = !(isSameContent(browser, shown) && isSameContent(service, content))
  const refusedBy = isEdited && row.refused?.by
  const before = refusedBy === 'service' ? content : shown
  const beforeThere = refusedBy === 'browser' ? shown : content
  let isConflict = false
  for (const name of ['title', 'url'] as const) {
    const isChangedHere = browser[name] !== before[name]
    const isChangedThere = service[name] !== beforeThere[name]
    if (isChangedHere) forService[name] = browser[name] as string
    else if (isChangedThere) forBrowser[name] = service[name] as string
    isConflict ||= isChangedHere && isChangedThere && browser[name] !== service[name]
  }
  return { forBrowser, forService, isConflict }
}

/** Returns the browser's content after a pair is first found: with the service's title, unless both titles look the same. */
export function firstForm(browser: Content, service: Content): Content {
  const isOtherForm = titleLikenessOf(browser.title) === titleLikenessOf(service.title)
  return isOtherForm || isSameContent(browser, service) ? browser : { ...browser, title: service.title }
}
