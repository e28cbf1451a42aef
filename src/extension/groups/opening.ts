import { type Clock, pause } from '../../client/timing/clock.ts'
import type { Link, Tab } from './links.ts'
import type { Entry } from './pairing.ts'
import type { LiveTab, Place } from './places.ts'
import { shownColor, type TabGroupsApi, type TabsApi, type WindowsApi } from './tabs-api.ts'

/** The parts of the browser that show groups. */
export interface GroupsBrowser {
  tabs: TabsApi
  /** Undefined in a browser without tab groups: there, a window stands for a group. */
  tabGroups: TabGroupsApi | undefined
  windows: WindowsApi
  /** True in Firefox: it makes tabs that load once they are looked at. */
  makesUnloaded: boolean
}

/** A group with more tabs opens unloaded. */
export const mostLoaded = 10
/** Chrome forgets the address of a tab that it unloads before it has arrived. */
const arrivalMs = 10_000
const arrivalStepMs = 100
const loadingAtOnce = 5
/** Opens groups in the browser, and brings them up to date. */
export class GroupOpener {
  readonly #browser: GroupsBrowser
  readonly #clock: Clock
  readonly #signal: AbortSignal

  constructor(browser: GroupsBrowser, clock: Clock, signal: AbortSignal) {
    this.#browser = browser
    this.#clock = clock
    this.#signal = signal
  }

  async goTo({ windowId, tabs: [first, ...others] }: Place): Promise<void> {
    const { tabs, windows } = this.#browser
    await windows.update(windowId, { focused: true })
    const [active] = await tabs.query({ windowId, active: true })
    if (first && ![first, ...others].some(({ tab }) => tab === active?.id))
      await tabs.update(first.tab, { active: true })
  }

  /** Opens tabs in the group, at most some of them loading. Returns the addresses that the browser refused. */
  async openAll(
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

  /** Unloads a tab once it has arrived. Returns its id, which is another one then. */
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

  async showLook(link: Link, { title, color }: { title: string; color?: string | undefined }): Promise<void> {
    const shown = { title, color: shownColor(color) }
    if (link.kind === 'group') await this.#browser.tabGroups?.update(link.place as number, shown)
    link.shown = shown
    link.saved = { title, color: color ?? '' }
  }

  async sort(link: Link, place: Place | undefined): Promise<void> {
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
export function openedEntry({ id, url }: Tab, tab: number): Entry {
  return { id, tab, url, saved: url, isFresh: true }
}

/** Takes the first with this address out of the list. */
export function take(tabs: LiveTab[], url: string): LiveTab[] {
  const at = tabs.findIndex((tab) => tab.url === url)
  return at === -1 ? [] : tabs.splice(at, 1)
}
