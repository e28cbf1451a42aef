/** The part of the browser's API for tabs, their groups and windows that tab groups use. */

/** A tab. Its address and title are missing without the permission `tabs`. */
export interface BrowserTab {
  id?: number | undefined
  windowId: number
  index: number
  /** -1 without a group; undefined in a browser without tab groups. */
  groupId?: number | undefined
  url?: string | undefined
  /** Chrome: the address that the tab is loading. */
  pendingUrl?: string | undefined
  title?: string | undefined
  status?: string | undefined
  discarded?: boolean | undefined
  active: boolean
  incognito: boolean
}

/** A tab group. Its id is valid until the browser is closed. */
export interface BrowserTabGroup {
  id: number
  windowId: number
  title?: string | undefined
  color: string
}

interface TabEvent<Listener = () => void> {
  addListener(listener: Listener): void
}

/** A tab for the browser to create. */
export interface NewTab {
  windowId?: number | undefined
  url?: string
  active?: boolean
  /** Firefox only: the tab is not loaded yet. Only such a tab may have a `title`. */
  discarded?: true
  title?: string
}

/** `chrome.tabs`. */
export interface TabsApi {
  query(filter: {
    windowType?: 'normal'
    windowId?: number
    active?: true
    highlighted?: true
    lastFocusedWindow?: true
  }): Promise<BrowserTab[]>
  get(id: number): Promise<BrowserTab>
  create(tab: NewTab): Promise<BrowserTab>
  update(id: number, changes: { url?: string; active?: true }): Promise<unknown>
  move(ids: number[], place: { index: number }): Promise<unknown>
  remove(ids: number[]): Promise<void>
  discard(id: number): Promise<BrowserTab | undefined>
  /** Missing in a browser without tab groups. */
  group?(options: { tabIds: number[]; groupId?: number; createProperties?: { windowId: number } }): Promise<number>
  onCreated: TabEvent
  onRemoved: TabEvent
  onMoved: TabEvent
  onAttached: TabEvent
  onReplaced?: TabEvent
  onUpdated: TabEvent<(id: number, changes: { url?: string; status?: string; groupId?: number }) => void>
}

/** `chrome.tabGroups`. */
export interface TabGroupsApi {
  query(filter: object): Promise<BrowserTabGroup[]>
  update(id: number, changes: { title?: string; color?: string }): Promise<unknown>
  onCreated: TabEvent
  onUpdated: TabEvent
  onRemoved: TabEvent
}

/** `chrome.windows`. */
export interface WindowsApi {
  create(window: { url: string; focused: true }): Promise<{ id?: number; tabs?: BrowserTab[] | undefined }>
  update(id: number, changes: { focused: true }): Promise<unknown>
}

/** Addresses of empty pages, error pages and extensions' pages. Groups do not store them. */
const unaddressed =
  /^(about:(blank|newtab|home|privatebrowsing|neterror)|(chrome|edge|brave|vivaldi|opera):\/\/(newtab|new-tab-page|startpage|vivaldi-webui\/startpage)|[a-z-]+-extension:|chrome-error:)/

/** The tab's address, or the one that it is loading; empty if a group would not store it. */
export function addressOf({ url, pendingUrl }: Pick<BrowserTab, 'url' | 'pendingUrl'>): string {
  const address = url || pendingUrl || ''
  return unaddressed.test(address) ? '' : address
}

/** True for web addresses. Others mean nothing on another device, or an extension may not open them. */
export function isOpenable(url: string | undefined): url is string {
  return url !== undefined && /^https?:/i.test(url)
}

/** The colours that both Chrome and Firefox have. Any other is shown as grey. */
const colors = new Set(['grey', 'blue', 'red', 'yellow', 'green', 'pink', 'purple', 'cyan', 'orange'])

export function shownColor(color: string | undefined): string {
  return color !== undefined && colors.has(color) ? color : 'grey'
}

/**
 * Listens to tabs and groups, so that the browser starts the worker when they change. Does not report what changed.
 *
 * @returns a function that sets the listener, in place of an earlier one
 */
export function watchTabs(tabs: TabsApi, tabGroups: TabGroupsApi | undefined): (listener: () => void) => void {
  let listener = () => {}
  const notify = () => listener()
  const events = [tabs.onCreated, tabs.onRemoved, tabs.onMoved, tabs.onAttached, tabs.onReplaced]
  const ofGroups = [tabGroups?.onCreated, tabGroups?.onUpdated, tabGroups?.onRemoved]
  for (const event of [...events, ...ofGroups]) event?.addListener(notify)
  // Ignores new titles, which a page may change every second.
  tabs.onUpdated.addListener((_id, { url, status, groupId }) => {
    if (url !== undefined || status !== undefined || groupId !== undefined) notify()
  })
  return (next) => {
    listener = next
  }
}
