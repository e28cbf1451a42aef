import type {
  BrowserTab,
  BrowserTabGroup,
  NewTab,
  TabGroupsApi,
  TabsApi,
  WindowsApi,
} from '../../src/extension/groups/tabs-api.ts'
import type { Flavour } from './browser-model.ts'

interface Tab {
  id: number
  url: string
  title: string
  groupId: number
  /** True while the tab is still loading its address. */
  isArriving?: boolean
  isUnloaded?: boolean
}

interface Window {
  id: number
  isPrivate: boolean
  tabs: Tab[]
  active: number
}

interface Group {
  title: string
  color: string
}

const colors = ['grey', 'blue', 'red', 'yellow', 'green', 'pink', 'purple', 'cyan', 'orange']

/**
 * A browser's tabs, groups and windows by the rules of its API: the tabs of a group are next to each other in one window, a
 * group without tabs disappears, ids are valid until the browser is closed, and Chrome gives an unloaded tab another id.
 */
export class TabsModel {
  readonly flavour: Flavour
  readonly hasGroups: boolean
  windows: Window[] = []
  groups = new Map<number, Group>()
  focused = 0
  #lastId = 100
  #listeners: (() => void)[] = []
  /** The number of tabs that the extension created and that are loaded. */
  loaded = 0
  /** Redirects: for an address, the one to which its page leads by itself. */
  redirects = new Map<string, string>()

  constructor(flavour: Flavour = 'chrome', hasGroups = true) {
    this.flavour = flavour
    this.hasGroups = hasGroups
    this.focused = this.openWindow('https://start.example/')
  }

  // The actions of the user.

  openWindow(url: string, isPrivate = false): number {
    const id = ++this.#lastId
    this.windows.push({ id, isPrivate, tabs: [], active: 0 })
    const window = this.window(id)
    window.active = this.openTab(url, id)
    return id
  }

  openTab(url: string, windowId = this.focused, groupId = -1): number {
    const id = ++this.#lastId
    this.window(windowId).tabs.push({ id, url, title: titleOf(url), groupId: -1 })
    if (groupId !== -1) this.group([id], groupId)
    this.#tell()
    return id
  }

  /** A group of new tabs. */
  openGroup(title: string, color: string, urls: string[], windowId = this.focused): number {
    const tabs = urls.map((url) => this.openTab(url, windowId))
    const id = this.group(tabs)
    this.groups.set(id, { title, color })
    return id
  }

  /** Puts tabs at the end of a group, or into a new one. -1 takes them out of their group. */
  group(ids: number[], groupId: number = ++this.#lastId): number {
    const into = this.windows.find(({ tabs }) => tabs.some((tab) => tab.groupId === groupId))
    const window = into ?? this.#windowOf(ids[0] as number)
    if (groupId !== -1 && !this.groups.has(groupId)) this.groups.set(groupId, { title: '', color: 'grey' })
    for (const id of ids) {
      const tab = this.#take(id)
      const last = groupId === -1 ? -1 : window.tabs.findLastIndex((one) => one.groupId === groupId)
      window.tabs.splice(last === -1 ? window.tabs.length : last + 1, 0, { ...tab, groupId })
    }
    this.#settle()
    return groupId
  }

  navigate(id: number, url: string): void {
    Object.assign(this.tab(id), { url, title: titleOf(url), isUnloaded: false })
    this.#tell()
  }

  /** Moves a tab within its group or window. */
  move(id: number, index: number): void {
    const window = this.#windowOf(id)
    const { groupId } = this.tab(id)
    const before = window.tabs.filter((tab) => tab.groupId === groupId && tab.id !== id)[index]
    const tab = this.#take(id)
    const at = before ? window.tabs.indexOf(before) : window.tabs.findLastIndex((one) => one.groupId === groupId) + 1
    window.tabs.splice(at, 0, tab)
    this.#settle()
  }

  /** Activates a tab, which loads it. */
  look(id: number): void {
    const tab = this.tab(id)
    this.#windowOf(id).active = id
    if (tab.isUnloaded) this.navigate(id, this.redirects.get(tab.url) ?? tab.url)
  }

  close(ids: number[]): void {
    for (const id of ids) this.#take(id)
    this.#settle()
  }

  closeWindow(id: number): void {
    this.windows = this.windows.filter((window) => window.id !== id)
    this.#settle()
  }

  /** Returns a function that restarts the browser with the current windows, except private ones, under other ids. */
  save(): () => void {
    const saved = structuredClone({ windows: this.windows, groups: this.groups })
    return () => {
      const groupIds = new Map([...saved.groups.keys()].map((id) => [id, ++this.#lastId]))
      this.groups = new Map([...saved.groups].map(([id, group]) => [groupIds.get(id) as number, { ...group }]))
      this.windows = saved.windows
        .filter(({ isPrivate }) => !isPrivate)
        .map(({ tabs }) => {
          const own = tabs.map((tab) => ({
            ...tab,
            id: ++this.#lastId,
            groupId: groupIds.get(tab.groupId) ?? -1,
            isUnloaded: true,
          }))
          return { id: ++this.#lastId, isPrivate: false, tabs: own, active: own[0]?.id ?? 0 }
        })
      if (this.windows.length === 0) this.openWindow('chrome://newtab/')
      this.focused = this.windows[0]?.id ?? 0
      this.#listeners = []
    }
  }

  window(id: number): Window {
    const window = this.windows.find((window) => window.id === id)
    if (!window) throw new Error(`No window with id: ${id}.`)
    return window
  }

  tab(id: number): Tab {
    const tab = this.windows.flatMap(({ tabs }) => tabs).find((tab) => tab.id === id)
    if (!tab) throw new Error(`No tab with id: ${id}.`)
    return tab
  }

  /** The groups as sorted text: `title color: url url`. */
  get text(): string[] {
    const all = this.windows.flatMap(({ tabs }) => tabs)
    const urls = (groupId: number) => all.filter((tab) => tab.groupId === groupId).map(({ url }) => url)
    return [...this.groups].map(([id, { title, color }]) => `${title} ${color}: ${urls(id).join(' ')}`).sort()
  }

  tabsOf(groupId: number): number[] {
    return this.windows.flatMap(({ tabs }) => tabs.filter((tab) => tab.groupId === groupId).map(({ id }) => id))
  }

  #take(id: number): Tab {
    const window = this.#windowOf(id)
    return window.tabs.splice(
      window.tabs.findIndex((tab) => tab.id === id),
      1,
    )[0] as Tab
  }

  #windowOf(id: number): Window {
    const window = this.windows.find(({ tabs }) => tabs.some((tab) => tab.id === id))
    if (!window) throw new Error(`No tab with id: ${id}.`)
    return window
  }

  #settle(): void {
    const used = new Set(this.windows.flatMap(({ tabs }) => tabs.map(({ groupId }) => groupId)))
    for (const id of this.groups.keys()) if (!used.has(id)) this.groups.delete(id)
    this.windows = this.windows.filter(({ tabs }) => tabs.length > 0)
    for (const window of this.windows) {
      if (!window.tabs.some(({ id }) => id === window.active)) window.active = window.tabs[0]?.id ?? 0
    }
    if (!this.windows.some(({ id }) => id === this.focused)) this.focused = this.windows[0]?.id ?? 0
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  // The API for the extension.

  api(gate: <T>(call: () => T) => Promise<T> = async (call) => call()): {
    tabs: TabsApi
    tabGroups: TabGroupsApi | undefined
    windows: WindowsApi
  } {
    const event = { addListener: (listener: () => void) => void this.#listeners.push(listener) }
    const updated = {
      addListener: (listener: (id: number, info: object) => void) => event.addListener(() => listener(0, { url: '' })),
    }
    const groups: TabGroupsApi = {
      query: () => gate(() => this.#queryGroups()),
      update: (id, changes) => gate(() => this.#updateGroup(id, changes)),
      ...{ onCreated: event, onUpdated: event, onRemoved: event },
    }
    return {
      tabs: {
        query: (filter) => gate(() => this.#query(filter)),
        get: (id) => gate(() => this.#shown(this.tab(id))),
        create: (tab) => gate(() => this.#create(tab)),
        update: (id, { url, active }) =>
          gate(() => {
            if (url !== undefined) this.navigate(id, url)
            if (active) this.look(id)
          }),
        move: (ids, { index }) => gate(() => this.#move(ids, index)),
        remove: (ids) => gate(() => this.close(ids)),
        discard: (id) => gate(() => this.#discard(id)),
        ...(this.hasGroups && {
          group: ({ tabIds, groupId }: { tabIds: number[]; groupId?: number }) =>
            gate(() => {
              if (groupId !== undefined && !this.groups.has(groupId)) throw new Error(`No group with id: ${groupId}.`)
              return this.group(tabIds, groupId)
            }),
        }),
        ...{ onCreated: event, onRemoved: event, onMoved: event, onAttached: event, onUpdated: updated },
      },
      tabGroups: this.hasGroups ? groups : undefined,
      windows: {
        create: ({ url }) =>
          gate(() => {
            this.loaded++
            const id = this.openWindow(url)
            this.focused = id
            return { id, tabs: this.window(id).tabs.map((tab) => this.#shown(tab)) }
          }),
        update: (id) =>
          gate(() => {
            this.focused = this.window(id).id
          }),
      },
    }
  }

  #queryGroups(): BrowserTabGroup[] {
    return [...this.groups].map(([id, group]) => ({
      id,
      windowId: this.#windowOf(this.tabsOf(id)[0] ?? 0).id,
      ...group,
    }))
  }

  #updateGroup(id: number, { title, color }: { title?: string; color?: string }): void {
    const group = this.groups.get(id)
    if (!group) throw new Error(`No group with id: ${id}.`)
    if (color !== undefined && !colors.includes(color)) throw new TypeError(`Invalid color ${color}`)
    Object.assign(group, { ...(title !== undefined && { title }), ...(color !== undefined && { color }) })
    this.#tell()
  }

  #query({ windowId, active, highlighted, lastFocusedWindow }: Parameters<TabsApi['query']>[0]): BrowserTab[] {
    return this.windows
      .filter(({ id }) => (windowId === undefined || id === windowId) && (!lastFocusedWindow || id === this.focused))
      .flatMap((window) => window.tabs.map((tab) => this.#shown(tab)))
      .filter((tab) => (!active && !highlighted) || tab.active)
  }

  #shown({ id, url, title, groupId, isArriving, isUnloaded = false }: Tab): BrowserTab {
    const window = this.#windowOf(id)
    const pending = this.flavour === 'chrome' ? { url: '', pendingUrl: url } : { url: 'about:blank' }
    return {
      ...{ id, windowId: window.id, index: window.tabs.findIndex((tab) => tab.id === id) },
      ...(this.hasGroups && { groupId }),
      ...(isArriving ? pending : { url }),
      title: isArriving ? '' : title,
      status: isUnloaded ? 'unloaded' : isArriving ? 'loading' : 'complete',
      ...{ discarded: isUnloaded, active: window.active === id, incognito: window.isPrivate },
    }
  }

  #create({ windowId = this.focused, url = 'chrome://newtab/', active = true, discarded, title }: NewTab): BrowserTab {
    if (discarded && this.flavour === 'chrome') throw new TypeError("Unexpected property: 'discarded'.")
    if (/^(file|about):/.test(url) && this.flavour === 'firefox') throw new Error(`Illegal URL: ${url}`)
    const id = this.openTab(url, windowId)
    if (active) this.window(windowId).active = id
    if (!discarded) this.loaded++
    Object.assign(this.tab(id), discarded && { isUnloaded: true, title: title ?? '' })
    return this.#shown(this.tab(id))
  }

  /** Unlike Firefox, does not take tabs out of their group when they are moved beyond it. */
  #move(ids: number[], index: number): void {
    const window = this.#windowOf(ids[0] as number)
    const tabs = ids.map((id) => this.#take(id))
    window.tabs.splice(index, 0, ...tabs)
    this.#settle()
  }

  #discard(id: number): BrowserTab {
    const tab = this.tab(id)
    if (this.#windowOf(id).active === id) throw new Error(`Cannot discard tab with id: ${id}.`)
    this.loaded--
    if (this.flavour === 'chrome') tab.id = ++this.#lastId
    tab.isUnloaded = true
    return this.#shown(tab)
  }
}

function titleOf(url: string): string {
  return URL.canParse(url) ? `Title of ${new URL(url).pathname}` : url
}
