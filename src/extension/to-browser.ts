import type { BookmarksApi, BrowserNode } from './browser-api.ts'
import type { Merged, MergedEntry } from './merge.ts'
import { insertBehind, ranks, stayers } from './order.ts'
import { type BrowserEntry, type BrowserTree, type Content, isLeftAlone, isSameContent } from './trees.ts'

/** An entry in the browser's own form. */
export type Shown = Content & Pick<BrowserNode, 'dateAdded'>

/** Hears what becomes of the changes. */
interface BrowserReport {
  /** Announces what is about to be created; resolves once that would survive the worker's death. */
  announce(entries: readonly MergedEntry[]): Promise<void>
  /** The browser has the entry in its place. */
  done(entry: MergedEntry, browserId: string, shown: Shown): void
  /** The folder's contents are in order, as far as they are placed. */
  ordered(key: string, order: readonly string[], placed: ReadonlySet<string>): void
  removed(entry: BrowserEntry): void
  /** The browser does not take the entry. @param shown what it has instead; null if it has nothing */
  refused(entry: MergedEntry, shown: Content | null, error: unknown): void
  /** The browser did not move or remove the entry. */
  failed(entry: BrowserEntry, error: unknown): void
  /** The user has changed something since it was read: it must be compared again. */
  stale(): void
}

type Api = Pick<BookmarksApi, 'get' | 'create' | 'update' | 'move' | 'remove'>

/** So many are announced at once. */
const announcedAtOnce = 100
/** Stands before the browser's id of what is left alone, among the service's ids. */
const aloneMark = '\0'

/** Makes the browser look like the merged tree. */
export async function changeBrowser(
  api: Api,
  merged: Merged,
  browser: BrowserTree,
  report: BrowserReport,
): Promise<void> {
  await new BrowserChanges(api, merged, browser, report).apply()
}

class BrowserChanges {
  readonly #api: Api
  readonly #merged: Merged
  readonly #browser: BrowserTree
  readonly #report: BrowserReport
  /** The browser's ids of the folders, by their keys. */
  readonly #folders: Map<string, string>
  readonly #announced = new Set<MergedEntry>()
  #creates: MergedEntry[] = []

  constructor(api: Api, merged: Merged, browser: BrowserTree, report: BrowserReport) {
    this.#api = api
    this.#merged = merged
    this.#browser = browser
    this.#report = report
    const { pairing } = merged
    this.#folders = new Map([...browser.roots.values()].map(({ browserId: id }) => [pairing.keyOf(id), id]))
  }

  /** Folders before what is in them: so none is moved into itself. */
  async apply(): Promise<void> {
    const keys = [...this.#folders.keys()]
    this.#creates = this.#inOrder().filter(({ browser }) => !browser)
    for (const key of keys) {
      const folder = this.#folders.get(key)
      if (folder === undefined) continue
      await this.#fill(key, folder)
      for (const id of this.#merged.orders.get(key) ?? []) if (this.#merged.orders.has(id)) keys.push(id)
    }
    for (const entry of this.#merged.leavingBrowser.toReversed()) await this.#remove(entry)
  }

  #inOrder(): MergedEntry[] {
    const { orders, entries } = this.#merged
    const ids = [...this.#folders.keys()].flatMap((key) => orders.get(key) ?? [])
    for (const id of ids) for (const inside of orders.get(id) ?? []) ids.push(inside)
    return ids.map((id) => entries.get(id) as MergedEntry)
  }

  /** From the first to the last: each goes behind the one before it, unless it is there. */
  async #fill(key: string, folder: string): Promise<void> {
    const list = this.#listOf(folder)
    const order = this.#merged.orders.get(key) ?? []
    const rank = ranks(list.map((browserId) => this.#tokenOf(browserId)))
    const desired = insertBehind(
      order,
      [...rank.keys()].filter((token) => token.startsWith(aloneMark) || this.#isIn(token, key)),
    )
    const steady = stayers(desired, (token) => rank.get(token))
    const placed = new Set<string>()
    let at = -1
    for (const token of desired) {
      const entry = this.#merged.entries.get(token)
      const browserId = entry ? await this.#place(entry, folder, at + 1, steady.has(token)) : token.slice(1)
      if (browserId === null) continue
      at = list.indexOf(browserId, Math.max(at, 0))
      if (at === -1) at = list.indexOf(browserId)
      if (entry) placed.add(token)
    }
    this.#report.ordered(key, order, placed)
  }

  /** Returns the browser's id once the entry is in its place, or null. */
  async #place(entry: MergedEntry, folder: string, index: number, isThere: boolean): Promise<string | null> {
    const { browser, forBrowser } = entry
    if (!browser) return this.#create(entry, folder, index)
    const { browserId } = browser
    if (entry.kind === 'folder') this.#folders.set(entry.id, browserId)
    const isAsIs = isSameContent(browser, forBrowser)
    if (isThere && isAsIs) {
      this.#report.done(entry, browserId, browser)
      return browserId
    }
    if (!(await this.#isAsRead(browser))) return null
    if (!isThere && !(await this.#move(browser, folder, index))) return null
    if (isAsIs) this.#report.done(entry, browserId, browser)
    else await this.#update(entry, browser)
    return browserId
  }

  async #create(entry: MergedEntry, folder: string, index: number): Promise<string | null> {
    await this.#announce(entry)
    const { kind, forBrowser } = entry
    const { title, url } = forBrowser
    const form =
      kind === 'separator' ? { title: '', type: kind } : url === undefined ? { title } : { title, url: url as string }
    let node: BrowserNode
    try {
      node = await this.#api.create({ parentId: folder, index, ...form })
    } catch {
      // The user may have removed what was before it, or the folder.
      this.#report.stale()
      if (!(await this.#exists(folder))) return null
      try {
        node = await this.#api.create({ parentId: folder, ...form })
      } catch (error) {
        this.#report.refused(entry, null, error)
        return null
      }
    }
    const list = this.#listOf(folder)
    if (node.index !== index) this.#report.stale()
    list.splice(index, 0, node.id)
    if (kind === 'folder') this.#folders.set(entry.id, node.id)
    this.#report.done(entry, node.id, kind === 'separator' ? { ...forBrowser, dateAdded: node.dateAdded } : node)
    return node.id
  }

  async #move(browser: BrowserEntry, folder: string, index: number): Promise<boolean> {
    const { browserId, parent } = browser
    const [from, to] = [this.#listOf(parent), this.#listOf(folder)]
    const before = from.indexOf(browserId)
    const isForward = parent === folder && before < index
    const place = isForward ? index - 1 : index
    // Chrome counts with the node in its old place, Firefox without it.
    const asked = isForward && !this.#browser.isFirefox ? place + 1 : place
    try {
      const node = await this.#api.move(browserId, { parentId: folder, index: asked })
      if (node.index !== place) this.#report.stale()
    } catch (error) {
      this.#report.failed(browser, error)
      return false
    }
    if (before !== -1) from.splice(before, 1)
    to.splice(place, 0, browserId)
    return true
  }

  async #update(entry: MergedEntry, browser: BrowserEntry): Promise<void> {
    const { title, url } = entry.forBrowser
    try {
      const node = await this.#api.update(browser.browserId, {
        title,
        ...(url !== browser.url && url !== undefined && { url }),
      })
      this.#report.done(entry, browser.browserId, node)
    } catch (error) {
      this.#report.refused(entry, browser, error)
    }
  }

  async #remove(entry: BrowserEntry): Promise<void> {
    if (!(await this.#exists(entry.browserId))) return this.#report.removed(entry)
    if (!(await this.#isAsRead(entry))) return
    try {
      for (const inside of this.#listOf(entry.browserId)) await this.#removeQuery(inside)
      await this.#api.remove(entry.browserId)
      this.#report.removed(entry)
    } catch (error) {
      this.#report.failed(entry, error)
    }
  }

  /** Otherwise it would keep its folder from being removed. */
  async #removeQuery(browserId: string): Promise<void> {
    if (this.#browser.entries.has(browserId)) return
    const [node] = await this.#api.get(browserId).catch(() => [])
    if (node && isLeftAlone(node.url)) await this.#api.remove(browserId)
  }

  async #announce(entry: MergedEntry): Promise<void> {
    if (this.#announced.has(entry)) return
    const start = this.#creates.indexOf(entry)
    const next = this.#creates.slice(start, start + announcedAtOnce)
    for (const one of next) this.#announced.add(one)
    await this.#report.announce(next)
  }

  /** The browser changes nothing on the condition that it is as it was, so this has to do. */
  async #isAsRead({ browserId, kind, title, url, parent }: BrowserEntry): Promise<boolean> {
    const [node] = await this.#api.get(browserId).catch(() => [])
    const isSame = kind === 'separator' || (node?.title === title && node.url === url)
    if (node && isSame && node.parentId === parent) return true
    this.#report.stale()
    return false
  }

  async #exists(browserId: string): Promise<boolean> {
    return this.#api.get(browserId).then(
      (nodes) => nodes.length > 0,
      () => false,
    )
  }

  #listOf(folder: string): string[] {
    const list = this.#browser.lists.get(folder) ?? []
    this.#browser.lists.set(folder, list)
    return list
  }

  #tokenOf(browserId: string): string {
    const isKept = this.#browser.entries.has(browserId)
    return isKept ? (this.#merged.pairing.idOf.get(browserId) as string) : `${aloneMark}${browserId}`
  }

  #isIn(id: string, key: string): boolean {
    return this.#merged.entries.get(id)?.parent === key
  }
}
