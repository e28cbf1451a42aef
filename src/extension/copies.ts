import { paced } from '../client/timing/paced.ts'
import type { AgreedRow } from './agreed.ts'
import { firstForm } from './merge.ts'
import { leastShare } from './moved.ts'
import type { Pairing, Trees } from './pair.ts'
import {
  type BrowserEntry,
  type Content,
  contentOf,
  likenessOf,
  rootKey,
  type ServiceEntry,
  titleLikenessOf,
} from './trees.ts'

/** A bookmark of the browser and one of the account that look alike, but are in different places. */
export interface Copy {
  /** The id of the account's bookmark. */
  id: string
  /** The browser's bookmark: its folder's title, then its own. */
  here: string
  /** The account's bookmark in the same form. */
  elsewhere: string
}

export interface FoundCopy extends Copy {
  browser: BrowserEntry
  service: ServiceEntry
  /** The id that the browser's bookmark gets if it stays separate, and the key of its folder. */
  ownId: string
  parent: string
}

/**
 * Finds bookmarks without a counterpart that look the same in another place: links with the same address and title, and
 * folders that share at least half of their contents, whatever their titles. Between two such folders, links need only the same
 * address.
 */
export async function findCopies({ agreed, browser, service }: Trees, pairing: Pairing): Promise<FoundCopy[]> {
  const { idOf, browserIdOf, keyOf } = pairing
  /** The account's bookmarks without a counterpart, by likeness. */
  const left = new Map<string, Set<ServiceEntry>>()
  const found = new Map<string, ServiceEntry>()
  const isLeft = ({ id, kind }: ServiceEntry) => kind !== 'separator' && !browserIdOf.has(id) && !agreed.rows.has(id)
  const enter = (entry: ServiceEntry) => {
    if (!isLeft(entry)) return
    const likeness = likenessOf(entry)
    left.set(likeness, (left.get(likeness) ?? new Set()).add(entry))
  }
  await paced(service.entries.values(), enter)
  const alike = (entry: BrowserEntry) => left.get(likenessOf(entry)) ?? new Set()
  const pairOf = ({ browserId }: BrowserEntry) =>
    found.get(browserId) ?? service.entries.get(idOf.get(browserId) as string)
  const isNew = (entry: BrowserEntry) => !pairOf(entry) && !agreed.rows.has(idOf.get(entry.browserId) as string)
  const take = (entry: BrowserEntry, same: ServiceEntry) => {
    found.set(entry.browserId, same)
    left.get(likenessOf(same))?.delete(same)
  }

  const matchFolder = (folder: BrowserEntry) => {
    if (folder.kind !== 'folder' || !isNew(folder)) return
    const inside = (browser.lists.get(folder.browserId) ?? []).flatMap((id) => browser.entries.get(id) ?? [])
    const shared = new Map<string, number>()
    for (const entry of inside) {
      const pair = pairOf(entry)
      const parents = new Set([...(pair ? [pair] : alike(entry))].map(({ parent }) => parent))
      for (const parent of parents) shared.set(parent, (shared.get(parent) ?? 0) + 1)
    }
    let [best, most]: [ServiceEntry | undefined, number] = [undefined, 0]
    for (const [key, count] of shared) {
      const there = service.entries.get(key)
      if (!there || !left.get(likenessOf(there))?.has(there)) continue
      const size = Math.max(inside.length, service.lists.get(key)?.length ?? 0)
      if (count <= most || count < leastShare * size) continue
      best = there
      most = count
    }
    if (best) take(folder, best)
  }
  // In reverse, so that the contents of a folder come before the folder.
  await paced([...browser.entries.values()].toReversed(), matchFolder)

  const isSameFolder = (entry: BrowserEntry, { parent }: ServiceEntry) =>
    parent === (found.get(entry.parent)?.id ?? keyOf(entry.parent))
  const isSameTitle = ({ title }: BrowserEntry, other: ServiceEntry) =>
    titleLikenessOf(title) === titleLikenessOf(other.title)
  for (const isSame of [isSameFolder, isSameTitle]) {
    const matchLink = (entry: BrowserEntry) => {
      if (entry.kind !== 'link' || !isNew(entry)) return
      const same = [...alike(entry)].find((other) => isSame(entry, other))
      if (same) take(entry, same)
    }
    await paced(browser.entries.values(), matchLink)
  }
  const roots = new Map(
    [...browser.roots].flatMap(([role, { browserId, title }]) => [
      [browserId, title],
      [rootKey(role), title],
    ]),
  )
  const nameOf = ({ parent, title }: Content & { parent: string }, entries: ReadonlyMap<string, Content>) =>
    `${entries.get(parent)?.title ?? roots.get(parent)} › ${title}`
  return [...browser.entries.values()].flatMap((entry) => {
    const same = found.get(entry.browserId)
    if (!same) return []
    const [here, elsewhere] = [nameOf(entry, browser.entries), nameOf(same, service.entries)]
    const own = { ownId: idOf.get(entry.browserId) as string, parent: keyOf(entry.parent) }
    return [{ id: same.id, here, elsewhere, browser: entry, service: same, ...own }]
  })
}

/** The row that makes both one bookmark, with the place and title that it has in the account. */
export function unitedRow({ browser, service, parent }: FoundCopy): AgreedRow {
  const { browserId, dateAdded, kind, title } = browser
  const isTitleKept = firstForm(browser, service).title === title
  // If the titles differ, the row gets the browser's, so that the account's counts as a change to apply.
  const content = { ...contentOf(service), ...(!isTitleKept && { title }) }
  return { id: service.id, browserId, dateAdded, kind, parent, content, shown: contentOf(browser) }
}

/** The row that keeps the browser's bookmark separate. */
export function separateRow({ browser, ownId, parent }: FoundCopy): AgreedRow {
  const { browserId, dateAdded, kind } = browser
  return { id: ownId, browserId, dateAdded, kind, parent, content: contentOf(browser), step: { kind: 'adding' } }
}
