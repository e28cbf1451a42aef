import { addressOf, type BrowserTab, type TabGroupsApi, type TabsApi } from './tabs-api.ts'

/** One of the browser's tabs, with the properties that a saved group follows. */
export interface LiveTab {
  tab: number
  /** Empty while the tab has no address that a group stores. */
  url: string
  title: string
  isLoading: boolean
  isUnloaded: boolean
}

/** A tab group of the browser, or a window that stands for one. */
export interface Place {
  kind: 'group' | 'window'
  id: number
  windowId: number
  /** Undefined for a window. */
  title?: string
  color?: string
  tabs: LiveTab[]
}

/** Reads the browser's tab groups and windows, without private ones. */
export async function readPlaces(tabs: TabsApi, tabGroups: TabGroupsApi | undefined): Promise<Place[]> {
  const places = new Map<string, Place>()
  const groups = new Map((await tabGroups?.query({}))?.map((group) => [group.id, group]))
  const all = (await tabs.query({ windowType: 'normal' })).filter(({ incognito }) => !incognito)
  for (const tab of all.sort((one, other) => one.index - other.index)) {
    const live = toLive(tab)
    const { windowId, groupId = -1 } = tab
    const enter = (kind: Place['kind'], id: number, look: { title?: string; color?: string }) => {
      const place = places.get(`${kind} ${id}`) ?? { kind, id, windowId, ...look, tabs: [] }
      places.set(`${kind} ${id}`, place)
      if (live) place.tabs.push(live)
    }
    enter('window', windowId, {})
    const group = groups.get(groupId)
    if (group) enter('group', groupId, { title: group.title ?? '', color: group.color })
  }
  return [...places.values()]
}

export function toLive(tab: BrowserTab): LiveTab | undefined {
  const { id, title = '', status, discarded = false } = tab
  if (id === undefined) return undefined
  const isUnloaded = discarded || status === 'unloaded'
  return { tab: id, url: addressOf(tab), title, isLoading: status === 'loading', isUnloaded }
}

/** The share of the longer list of addresses that is in both lists: 0 to 1. */
export function similarity(one: readonly string[], other: readonly string[]): number {
  const left = [...other]
  const common = one.filter((url) => {
    const at = left.indexOf(url)
    if (at !== -1) left.splice(at, 1)
    return at !== -1
  })
  return common.length / Math.max(one.length, other.length, 1)
}

/** The tabs outside of groups. */
export function looseIn(places: readonly Place[]): LiveTab[] {
  const grouped = new Set(places.flatMap(({ kind, tabs }) => (kind === 'group' ? tabs.map(({ tab }) => tab) : [])))
  const windows = places.filter(({ kind }) => kind === 'window')
  return windows.flatMap(({ tabs }) => tabs.filter(({ tab }) => !grouped.has(tab)))
}
