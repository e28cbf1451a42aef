import type { BookmarksApi, BrowserNode } from './browser-api.ts'
import type { Merged, MergedEntry } from './merge.ts'
import { idsInPlace, insertAfter, ranks } from './order.ts'
import { type BrowserEntry, type BrowserTree, type Content, isLeftAlone, isSameContent } from './trees.ts'

/** An entry as the browser has stored it: it may have rewritten the address or the title. */
export type Shown = Content & Pick<BrowserNode, 'dateAdded'>

/** Receives the results of the changes. */
interface BrowserReport {
  /** Announces entries about to be created. Resolves once that is stored, so that it survives the worker's death. */
  announce(entries: readonly MergedEntry[]): Promise<void>
  /** The entry is in its place in the browser. */
  done(entry: MergedEntry, browserId: string, shown: Shown): void
  /** The folder's placed entries are in order. */
  ordered(key: string, order: readonly string[], placed: ReadonlySet<string>): void
  removed(entry: BrowserEntry): void
  /**
   * The browser refused the entry.
   *
   * @param shown what it has instead; null if it has nothing
   */
  refused(entry: MergedEntry, shown: Content | null, error: unknown): void
  /** The browser failed to move or remove the entry. */
  failed(entry: BrowserEntry, error: unknown): void
  /** The browser is not as it was last read, so another comparison is needed. */
  stale(): void
}

type Api = Pick<BookmarksApi, 'get' | 'create' | 'update' | 'move' | 'remove'>

/** The number of entries announced at once. */
const announcedAtOnce = 100
/** Marks a browser's id in a list of service ids: a node that is not synced has no service id. */
const leftAlonePrefix = '\0'

/**
 * Changes the browser to match the merged tree.
 *
 * @param isResting true while a delete may still be undone: changes nothing yet, and only reports what is in its place
 */
export async function changeBrowser(
  api: Api,
  merged: Merged,
  tree: BrowserTree,
  report: BrowserReport,
  isResting: boolean,
): Promise<void> {
  const { pairing, orders, entries } = merged
  /** The browser's ids of the folders, by their keys. */
  const folders = new Map([...tree.roots.values()].map(({ browserId: id }) => [pairing.keyOf(id), id]))
  const announced = new Set<MergedEntry>()
  const creates = inOrder().filter(({ browser }) => !browser)
  // Folders come before their contents, so that none is moved into itself.
  const keys = [...folders.keys()]
  for (const key of keys) {
    const folder = folders.get(key)
    if (folder === undefined) continue
    await fill(key, folder)
    for (const id of orders.get(key) ?? []) if (orders.has(id)) keys.push(id)
  }
  if (!isResting) for (const entry of merged.leavingBrowser.toReversed()) await remove(entry)

  function inOrder(): MergedEntry[] {
    const ids = [...folders.keys()].flatMap((key) => orders.get(key) ?? [])
    for (const id of ids) for (const inside of orders.get(id) ?? []) ids.push(inside)
    return ids.map((id) => entries.get(id) as MergedEntry)
  }

  /** Places a folder's entries from first to last, each after the one before it. */
  async function fill(key: string, folder: string): Promise<void> {
    const list = listOf(folder)
    const order = orders.get(key) ?? []
    const rank = ranks(list.map((browserId) => tokenOf(browserId)))
    const desired = insertAfter(
      order,
      [...rank.keys()].filter((token) => token.startsWith(leftAlonePrefix) || entries.get(token)?.parent === key),
    )
    const steady = idsInPlace(desired, (token) => rank.get(token))
    const placed = new Set<string>()
    let at = -1
    for (const token of desired) {
      const entry = entries.get(token)
      const browserId = entry ? await place(entry, folder, at + 1, steady.has(token)) : token.slice(1)
      if (browserId === null) continue
      at = list.indexOf(browserId, Math.max(at, 0))
      if (at === -1) at = list.indexOf(browserId)
      if (entry) placed.add(token)
    }
    report.ordered(key, order, placed)
  }

  /** Puts the entry in its place. Returns the browser's id, or null if it is not there. */
  async function place(entry: MergedEntry, folder: string, index: number, isThere: boolean): Promise<string | null> {
    const { browser, forBrowser } = entry
    if (!browser) return isResting ? null : create(entry, folder, index)
    const { browserId } = browser
    if (entry.kind === 'folder') folders.set(entry.id, browserId)
    const isAsIs = isSameContent(browser, forBrowser)
    if (isThere && isAsIs) {
      report.done(entry, browserId, browser)
      return browserId
    }
    if (isResting || !(await isAsRead(browser))) return null
    if (!isThere && !(await move(browser, folder, index))) return null
    if (isAsIs) report.done(entry, browserId, browser)
    else await update(entry, browser)
    return browserId
  }

  async function create(entry: MergedEntry, folder: string, index: number): Promise<string | null> {
    await announce(entry)
    const { kind, forBrowser } = entry
    const { title, url } = forBrowser
    const form =
      kind === 'separator' ? { title: '', type: kind } : url === undefined ? { title } : { title, url: url as string }
    let node: BrowserNode
    try {
      node = await api.create({ parentId: folder, index, ...form })
    } catch {
      // The user may have removed the entry before it, or the folder.
      report.stale()
      if (!(await exists(folder))) return null
      try {
        node = await api.create({ parentId: folder, ...form })
      } catch (error) {
        report.refused(entry, null, error)
        return null
      }
    }
    const list = listOf(folder)
    if (node.index !== index) report.stale()
    list.splice(index, 0, node.id)
    if (kind === 'folder') folders.set(entry.id, node.id)
    report.done(entry, node.id, kind === 'separator' ? { ...forBrowser, dateAdded: node.dateAdded } : node)
    return node.id
  }

  async function move(browser: BrowserEntry, folder: string, index: number): Promise<boolean> {
    const { browserId, parent } = browser
    const [from, to] = [listOf(parent), listOf(folder)]
    const before = from.indexOf(browserId)
    const isForward = parent === folder && before < index
    const place = isForward ? index - 1 : index
    // Chrome counts the index with the node in its old place, Firefox without it.
    const asked = isForward && !tree.isFirefox ? place + 1 : place
    try {
      const node = await api.move(browserId, { parentId: folder, index: asked })
      if (node.index !== place) report.stale()
    } catch (error) {
      report.failed(browser, error)
      return false
    }
    if (before !== -1) from.splice(before, 1)
    to.splice(place, 0, browserId)
    return true
  }

  async function update(entry: MergedEntry, browser: BrowserEntry): Promise<void> {
    const { title, url } = entry.forBrowser
    try {
      const node = await api.update(browser.browserId, {
        title,
        ...(url !== browser.url && url !== undefined && { url }),
      })
      report.done(entry, browser.browserId, node)
    } catch (error) {
      report.refused(entry, browser, error)
    }
  }

  async function remove(entry: BrowserEntry): Promise<void> {
    if (!(await exists(entry.browserId))) return report.removed(entry)
    if (!(await isAsRead(entry))) return
    try {
      for (const inside of listOf(entry.browserId)) await removeQuery(inside)
      await api.remove(entry.browserId)
      report.removed(entry)
    } catch (error) {
      report.failed(entry, error)
    }
  }

  /** Removes a query of Firefox, which would keep its folder from being removed. */
  async function removeQuery(browserId: string): Promise<void> {
    if (tree.entries.has(browserId)) return
    const [node] = await api.get(browserId).catch(() => [])
    if (node && isLeftAlone(node.url)) await api.remove(browserId)
  }

  async function announce(entry: MergedEntry): Promise<void> {
    if (announced.has(entry)) return
    const start = creates.indexOf(entry)
    const next = creates.slice(start, start + announcedAtOnce)
    for (const one of next) announced.add(one)
    await report.announce(next)
  }

  /** True if the node is as it was read. The API has no conditional update, so the user may still be faster. */
  async function isAsRead({ browserId, kind, title, url, parent }: BrowserEntry): Promise<boolean> {
    const [node] = await api.get(browserId).catch(() => [])
    const isSame = kind === 'separator' || (node?.title === title && node.url === url)
    if (node && isSame && node.parentId === parent) return true
    report.stale()
    return false
  }

  async function exists(browserId: string): Promise<boolean> {
    return api.get(browserId).then(
      (nodes) => nodes.length > 0,
      () => false,
    )
  }

  function listOf(folder: string): string[] {
    const list = tree.lists.get(folder) ?? []
    tree.lists.set(folder, list)
    return list
  }

  function tokenOf(browserId: string): string {
    const isKept = tree.entries.has(browserId)
    return isKept ? (pairing.idOf.get(browserId) as string) : `${leftAlonePrefix}${browserId}`
  }
}
