import type { TreeNode } from '../../client/bookmark/tree.ts'
import { type Clock, pause } from '../../client/timing/clock.ts'
import { ranks } from '../order.ts'
import { type Link, type Tab, tabsOf } from './links.ts'
import type { Entry } from './pairing.ts'
import type { LiveTab, Place } from './places.ts'
import { isOpenable, shownColor, type TabGroupsApi, type TabsApi, type WindowsApi } from './tabs-api.ts'

/** The parts of the browser that show groups. */
export interface GroupsBrowser {
  tabs: TabsApi
  /** Undefined in a browser without tab groups: there, a window stands for a group. */
  tabGroups: TabGroupsApi | undefined
  windows: WindowsApi
  /** True in Firefox, which can open tabs that load only when the person looks at them. */
  makesUnloaded: boolean
}

/** If more tabs are opened at once, the extension unloads them again in Chrome to save memory. */
const mostLoaded = 10
/** The longest wait (ms) for a new tab's address. Chrome loses the address of a tab that is unloaded earlier. */
const arrivalMs = 10_000
const arrivalStepMs = 100
const loadingAtOnce = 5

/** Access to the links of saved groups, which `TabGroups` keeps. */
export interface OpenLinks {
  /** Stores the links as they are now. */
  store(): Promise<void>
  /** The link's group or window. */
  placeOf(link: Link): Promise<Place | undefined>
}

/** Opens groups in the browser, and brings them up to date. */
export class GroupOpener {
  readonly #browser: GroupsBrowser
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #links: OpenLinks

  constructor(browser: GroupsBrowser, clock: Clock, signal: AbortSignal, links: OpenLinks) {
    this.#browser = browser
    this.#clock = clock
    this.#signal = signal
    this.#links = links
  }

  async goTo({ windowId, tabs: [first, ...others] }: Place): Promise<void> {
    const { tabs, windows } = this.#browser
    await windows.update(windowId, { focused: true })
    const [active] = await tabs.query({ windowId, active: true })
    if (first && ![first, ...others].some(({ tab }) => tab === active?.id))
      await tabs.update(first.tab, { active: true })
  }

  /**
   * Opens a saved group. Tabs in `loose` that have its addresses are moved into it instead of opened again.
   *
   * @param add remembers the new link of the group
   * @returns the addresses that the browser refused
   */
  async open(node: TreeNode, inNewWindow: boolean, loose: LiveTab[], add: (link: Link) => void): Promise<string[]> {
    const { tabs, tabGroups, windows } = this.#browser
    const opened = tabsOf(node).filter(({ url }) => isOpenable(url))
    const [first, ...others] = opened
    if (!first) return []
    const [active] = await tabs.query({ active: true, lastFocusedWindow: true, windowType: 'normal' })
    const [found] = take(loose, first.url)
    let [windowId, tab] = [active?.windowId, found?.tab]
    if (!found && (inNewWindow || !tabGroups || windowId === undefined)) {
      const made = await windows.create({ url: first.url, focused: true })
      ;[windowId, tab] = [made.id, made.tabs?.[0]?.id]
    } else tab ??= (await tabs.create({ windowId, url: first.url, active: true })).id
    if (tab === undefined || windowId === undefined) return [first.url]
    const kind = tabGroups ? 'group' : 'window'
    const place = tabGroups ? await tabs.group?.({ tabIds: [tab], createProperties: { windowId } }) : windowId
    if (place === undefined) return [first.url]
    // Stored first: if the worker dies while tabs open, the next one finds them by their addresses.
    const link: Link = { kind, place, saved: { title: '', color: '' }, entries: [openedEntry(first, tab)] }
    add(link)
    await this.#links.store()
    await this.#showLook(link, node.bookmark)
    const failed = await this.#openAll(others, link, windowId, loose, opened.length > mostLoaded)
    await this.#links.store()
    return failed
  }

  async close(link: Link, place: Place): Promise<void> {
    const { tabs } = this.#browser
    link.place = null
    // Stored before the tabs are closed, so that the person does not seem to have closed them one by one.
    await this.#links.store()
    const others = await tabs.query({ windowId: place.windowId })
    // The new tab keeps the window open: closing the last window would quit the browser.
    if (others.length <= place.tabs.length) await tabs.create({ windowId: place.windowId })
    await tabs.remove(place.tabs.map(({ tab }) => tab))
  }

  /** Changes the open tabs to match the saved group. */
  async bringUpToDate(node: TreeNode, link: Link, place: Place): Promise<void> {
    const { tabs } = this.#browser
    const saved = tabsOf(node)
    const records = new Map(saved.map((tab) => [tab.id, tab]))
    const isKept = ({ id, refused }: Entry) => records.has(id) || refused !== undefined
    const known = new Set(link.entries.map(({ id }) => id))
    const missing = saved.filter(({ id, url }) => !known.has(id) && isOpenable(url))
    const closed = link.entries.filter((entry) => !isKept(entry))
    const closes = new Set(closed.map(({ tab }) => tab))
    if (missing.length === 0 && place.tabs.every(({ tab }) => closes.has(tab))) return this.close(link, place)
    // New tabs first: the browser removes a group that has no tabs left.
    await this.#openAll(missing, link, place.windowId, [], missing.length > mostLoaded)
    link.entries = link.entries.filter(isKept)
    for (const entry of link.entries) {
      const url = records.get(entry.id)?.url
      if (url === undefined || url === entry.saved) continue
      entry.saved = url
      if (!isOpenable(url)) continue
      await tabs.update(entry.tab, { url })
      entry.isFresh = true
    }
    const rank = ranks(saved.map(({ id }) => id))
    const rankOf = ({ id }: Entry) => rank.get(id) ?? saved.length
    link.entries.sort((one, other) => rankOf(one) - rankOf(other))
    await this.#links.store()
    if (closed.length > 0) await tabs.remove([...closes])
    await this.#showLook(link, node.bookmark)
    await this.#sort(link, await this.#links.placeOf(link))
    await this.#links.store()
  }

  /** Opens tabs in the group, a few at a time. Returns the addresses that the browser refused. */
  async #openAll(
    all: readonly Tab[],
    link: Link,
    windowId: number,
    loose: LiveTab[],
    isLarge: boolean,
  ): Promise<string[]> {
    const { tabs, makesUnloaded } = this.#browser
    const failed: string[] = []
    for (let start = 0; start < all.length; start += loadingAtOnce) {
      const batch: { tab: Tab; id: number; isNew: boolean }[] = []
      for (const tab of all.slice(start, start + loadingAtOnce)) {
        try {
          const { url, title } = tab
          const lazy = makesUnloaded ? { discarded: true as const, title } : {}
          const [found] = take(loose, url)
          const id = found?.tab ?? (await tabs.create({ windowId, url, active: false, ...lazy })).id
          if (id === undefined) continue
          const groupId = link.kind === 'group' ? link.place : null
          if (groupId !== null) await tabs.group?.({ tabIds: [id], groupId })
          batch.push({ tab, id, isNew: !found })
        } catch {
          failed.push(tab.url)
        }
      }
      const unload = isLarge && !makesUnloaded
      const shown = batch.map(async ({ tab, id, isNew }) =>
        openedEntry(tab, unload && isNew ? await this.#unload(id) : id),
      )
      link.entries.push(...(await Promise.all(shown)))
    }
    return failed
  }

  /** Unloads a tab once it has its address. Returns its id, which may change when it is unloaded. */
  async #unload(id: number): Promise<number> {
    const { tabs } = this.#browser
    for (let waited = 0; waited < arrivalMs; waited += arrivalStepMs) {
      if ((await tabs.get(id).catch(() => undefined))?.url) break
      await pause(this.#clock, arrivalStepMs, [], this.#signal)
    }
    const tab = await tabs.get(id).catch(() => undefined)
    const unloaded = tab?.url && !tab.active ? await tabs.discard(id).catch(() => undefined) : undefined
    return unloaded?.id ?? id
  }

  async #showLook(link: Link, { title, color }: { title: string; color?: string | undefined }): Promise<void> {
    const shown = { title, color: shownColor(color) }
    if (link.kind === 'group') await this.#browser.tabGroups?.update(link.place as number, shown)
    link.shown = shown
    link.saved = { title, color: color ?? '' }
  }

  async #sort(link: Link, place: Place | undefined): Promise<void> {
    const { tabs } = this.#browser
    const wanted = link.entries.map(({ tab }) => tab)
    const isOther = place?.tabs.some(({ tab }, index) => tab !== wanted[index])
    const first = place?.tabs[0]
    if (!isOther || !first) return
    const { index } = await tabs.get(first.tab)
    await tabs.move(wanted, { index })
    // Firefox takes a tab out of its group when it is moved beyond the others.
    if (link.kind === 'group') await tabs.group?.({ tabIds: wanted, groupId: place.id })
  }
}

/** The entry of a tab that was opened here. */
function openedEntry({ id, url }: Tab, tab: number): Entry {
  return { id, tab, url, saved: url, isFresh: true }
}

/** Removes the first tab with this address from the list, and returns it; empty if there is none. */
function take(tabs: LiveTab[], url: string): LiveTab[] {
  const at = tabs.findIndex((tab) => tab.url === url)
  return at === -1 ? [] : tabs.splice(at, 1)
}
