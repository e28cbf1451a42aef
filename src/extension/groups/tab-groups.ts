import { kindOf, type TreeNode } from '../../client/bookmark/tree.ts'
import { uuidv7 } from '../../client/ids.ts'
import type { Sync } from '../../client/sync/sync.ts'
import { Alarm, type Clock, pause, systemClock } from '../../client/timing/clock.ts'
import type { SessionStorageApi } from '../browser-api.ts'
import { type Differs, differsFrom, findAlike, type Link, tabsOf } from './links.ts'
import { GroupOpener, type GroupsBrowser } from './opening.ts'
import { meetTabs, newEntry } from './pairing.ts'
import { type LiveTab, looseIn, type Place, readPlaces, toLive } from './places.ts'
import { isOpenable, shownColor } from './tabs-api.ts'
import { type GroupsSync, GroupWriter } from './writing.ts'

/** The options of `createTabGroups`. */
export interface TabGroupsOptions extends GroupsBrowser {
  /** Its `types` include `group`. */
  sync: GroupsSync & Pick<Sync, 'status' | 'on'>
  /** From `watchTabs`. */
  watch: (listener: () => void) => void
  /** `chrome.storage.local` */
  storage: { get(names: string[]): Promise<Record<string, unknown>>; set(values: object): Promise<void> }
  session: SessionStorageApi
  clock?: Clock | undefined
}

/** A saved tab group, as it is shown. */
export interface SavedGroup {
  id: string
  title: string
  color: string
  /** `canOpen`: true for web addresses. The extension opens no others. */
  tabs: { id: string; title: string; url: string; canOpen: boolean }[]
  isOpen: boolean
  /** True if it was open when the browser was closed, and at least half of its tabs are now open without a group. */
  isScattered: boolean
  /** True if it is not open, but an unsaved group or window resembles it (`findAlike`). `follow` links that to it. */
  isAlike: boolean
  /** The changes that `update` would make here. Missing if it is not open, or nothing differs. */
  differs?: Differs
}

/** The tabs that a person saves under a name: those of the current group, of the current window, or the selected ones. */
export type Saved = 'group' | 'window' | 'tabs'

/** The saved tab groups, linked with those that are open in this browser. */
export interface TabGroups {
  /** Follows what the person does with saved groups that are open, until `stop`. */
  start(): Promise<void>
  stop(): Promise<void>
  /** Compares now. Resolves once the person's changes are stored as edits of the sync, or must wait for a pull. */
  compareNow(): Promise<void>
  list(): SavedGroup[]
  /** Titles of tabs that are too large to be stored. */
  refused(): string[]
  /** @throws RangeError there is no window or group of this kind, or it has no tab to save */
  save(what: Saved, title: string): Promise<void>
  rename(id: string, title: string): Promise<void>
  /** Deletes the saved group; its tabs in the browser stay. */
  remove(id: string): Promise<void>
  /**
   * Opens the group, or shows it if it is open here. Returns the addresses that the browser refused.
   *
   * @param most if the group has more tabs, they are not opened, and undefined is returned
   */
  open(id: string, inNewWindow?: boolean, most?: number): Promise<string[] | undefined>
  openTab(id: string): Promise<void>
  /** From now on, the open group or window that resembles it (`isAlike`) is this saved group. */
  follow(id: string): Promise<void>
  /** Closes the group's tabs here. The group stays saved. */
  close(id: string): Promise<void>
  /** Changes the open tabs to match the saved group. */
  update(id: string): Promise<void>
  /** Changes the saved group to match the open tabs. */
  keep(id: string): Promise<void>
}

/** How long to wait after the last event, because the person may do more. */
const quietMs = 3000
/** The same wait after a start of the browser, which restores its windows and groups one after the other. */
const settlingMs = 5000
/** The longest wait: pages may change their addresses without end. */
const mostUnrestMs = 60_000
/** Key in the local and the session storage. */
export const groupsKey = 'groups'

/** Follows the browser's tab groups, and opens those of other devices. */
export function createTabGroups(options: TabGroupsOptions): TabGroups {
  return new Followed(options)
}

class Followed implements TabGroups {
  readonly #options: TabGroupsOptions
  readonly #clock: Clock
  readonly #ended = new AbortController()
  readonly #writer: GroupWriter
  readonly #opener: GroupOpener
  readonly #changed = new Alarm()
  #rings = 0
  #links: Map<string, Link> | undefined
  #scattered = new Set<string>()
  #alike = new Map<string, Place>()
  #startedAt = 0
  /** True until the groups that were open before the browser started have been looked for. */
  #isStarting = false
  #isWaiting = false
  /** Comparisons and the person's actions run one after the other. */
  #tail: Promise<unknown> = Promise.resolve()
  #following: Promise<void> | undefined

  constructor(options: TabGroupsOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#writer = new GroupWriter(options.sync, this.#clock)
    this.#opener = new GroupOpener(options, this.#clock, this.#ended.signal, {
      store: () => this.#store(),
      placeOf: async (link) => (await this.#openPlaces()).get(link),
    })
  }

  async start(): Promise<void> {
    const { sync, watch } = this.#options
    await this.#load()
    watch(() => this.#ring())
    const removers = [
      sync.on('groups', ({ origin }) => {
        if (origin === 'remote') this.#ring()
      }),
      sync.on('status', () => {
        if (this.#isWaiting && this.#isReady()) this.#ring()
      }),
    ]
    this.#ended.signal.addEventListener('abort', () => {
      for (const remove of removers) remove()
    })
    this.#following ??= this.#follow()
    this.#ring()
  }

  async stop(): Promise<void> {
    this.#ended.abort(new DOMException('The tab groups were stopped', 'AbortError'))
    this.#ring()
    await Promise.allSettled([this.#tail, this.#following])
  }

  compareNow(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#compare()
      if (this.#isStarting) await this.#options.session.set({ [groupsKey]: true })
      this.#isStarting = false
    })
  }

  list(): SavedGroup[] {
    return this.#nodes().map((node) => {
      const { id, title, color } = node.bookmark
      const link = this.#links?.get(id)
      const isOpen = typeof link?.place === 'number'
      const differs = differsFrom(node, link)
      return {
        ...{ id, title, color: shownColor(color) },
        tabs: tabsOf(node).map(({ id, title, url }) => ({ id, title, url, canOpen: isOpenable(url) })),
        isOpen,
        isScattered: this.#scattered.has(id),
        isAlike: !isOpen && this.#alike.has(id),
        ...(differs.opens + differs.closes + differs.changes > 0 && { differs }),
      }
    })
  }

  refused(): string[] {
    return [...(this.#links?.values() ?? [])].flatMap(({ entries }) => entries.flatMap(({ refused }) => refused ?? []))
  }

  save(what: Saved, title: string): Promise<void> {
    return this.#inTurn(async () => {
      const { sync, tabs, tabGroups } = this.#options
      const links = await this.#load()
      const [active] = await tabs.query({ active: true, lastFocusedWindow: true, windowType: 'normal' })
      if (!active || active.incognito) throw new RangeError('There is no window')
      let groupId = active.groupId ?? -1
      if (what === 'tabs') {
        // Passes the window's id, because a private one may have come to the front meanwhile.
        const selected = await tabs.query({ highlighted: true, windowId: active.windowId })
        const live = selected.flatMap((tab) => toLive(tab) ?? []).filter(({ url }) => url)
        if (live.length === 0) throw new RangeError('There is no tab to save')
        const tabIds = live.map(({ tab }) => tab)
        if (tabGroups) groupId = (await tabs.group?.({ tabIds, createProperties: { windowId: active.windowId } })) ?? -1
        // These tabs do not form a group in the browser, so later changes to them are not followed.
        else return this.#create(title, undefined, live)
      }
      const kind = what === 'window' || !tabGroups ? 'window' : 'group'
      const placeId = kind === 'window' ? active.windowId : groupId
      const place = (await this.#places()).find((place) => place.kind === kind && place.id === placeId)
      if (!place?.tabs.some(({ url }) => url)) throw new RangeError('There is no tab to save')
      const [id] = [...links].find(([, link]) => link.kind === kind && link.place === placeId) ?? []
      await this.#name(kind, placeId, title)
      if (id === undefined) await this.#create(title, place, place.tabs)
      else await sync.groups.update(id, { title })
      await this.#compare()
    })
  }

  rename(id: string, title: string): Promise<void> {
    return this.#inTurn(async () => {
      const links = await this.#load()
      await this.#options.sync.groups.update(id, { title })
      const link = links.get(id)
      if (typeof link?.place === 'number') await this.#name(link.kind, link.place, title)
      if (link) for (const look of [link.shown, link.saved]) if (look) look.title = title
      await this.#store()
    })
  }

  remove(id: string): Promise<void> {
    return this.#inTurn(async () => {
      const links = await this.#load()
      const node = this.#node(id)
      await this.#options.sync.groups.remove([id, ...tabsOf(node).map((tab) => tab.id)])
      links.delete(id)
      await this.#store()
    })
  }

  open(id: string, inNewWindow = false, most = Number.POSITIVE_INFINITY): Promise<string[] | undefined> {
    return this.#inTurn(async () => {
      // The browser may have restored the group just now.
      await this.#compare()
      const place = await this.#placeOf(id)
      if (place) {
        await this.#opener.goTo(place)
        return []
      }
      if (tabsOf(this.#node(id)).length > most) return undefined
      const links = await this.#load()
      const loose = this.#scattered.has(id) ? looseIn(await this.#places()) : []
      return this.#opener.open(this.#node(id), inNewWindow, loose, (link) => void links.set(id, link))
    })
  }

  openTab(id: string): Promise<void> {
    return this.#inTurn(async () => {
      const { tabs, sync } = this.#options
      const { url, parentId = '' } = sync.groups.get(id) ?? {}
      const place = await this.#placeOf(parentId)
      const { tab } = (await this.#load()).get(parentId)?.entries.find((entry) => entry.id === id) ?? {}
      const live = place?.tabs.find((one) => one.tab === tab)
      if (place && live) return this.#opener.goTo({ ...place, tabs: [live] })
      if (isOpenable(url)) await tabs.create({ url, active: true })
    })
  }

  follow(id: string): Promise<void> {
    return this.#inTurn(async () => {
      await this.#compare()
      const place = this.#alike.get(id)
      if (!place) return
      this.#take(this.#node(id), place, await this.#load())
      await this.#store()
    })
  }

  close(id: string): Promise<void> {
    return this.#ifOpen(id, (link, place) => this.#opener.close(link, place))
  }

  update(id: string): Promise<void> {
    return this.#ifOpen(id, (link, place) => this.#opener.bringUpToDate(this.#node(id), link, place))
  }

  keep(id: string): Promise<void> {
    return this.#ifOpen(id, async (link, place) => {
      const { groups } = this.#options.sync
      const node = this.#node(id)
      const known = new Set(link.entries.map((entry) => entry.id))
      const missing = tabsOf(node).filter((tab) => !known.has(tab.id) && isOpenable(tab.url))
      await groups.remove(missing.map((tab) => tab.id))
      const { title, color } = place
      if (title !== undefined && color !== undefined) {
        await groups.update(id, { title, color })
        link.saved = { title, color }
      }
      await this.#writer.write(this.#node(id), link, place, { isWhole: true })
      await this.#store()
    })
  }

  /** Runs the work if the group is open. Compares first, because it may have been closed or opened just now. */
  #ifOpen(id: string, work: (link: Link, place: Place) => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      await this.#compare()
      const place = await this.#placeOf(id)
      const link = (await this.#load()).get(id)
      if (place && link) await work(link, place)
    })
  }

  /** Compares after each burst of events, once it has been quiet for a while or the longest wait is over. */
  async #follow(): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      await this.#changed.rung
      const since = this.#clock.now()
      for (let before = -1; before !== this.#rings && !signal.aborted; ) {
        if (this.#clock.now() - since > mostUnrestMs) break
        before = this.#rings
        this.#changed.reset()
        await pause(this.#clock, this.#isStarting ? settlingMs : quietMs, [this.#changed.rung], signal)
      }
      this.#changed.reset()
      if (signal.aborted) return
      // After a failure, the next event leads to a new attempt.
      if (await this.#isArriving().catch(() => false)) this.#ring()
      else await this.compareNow().catch(() => {})
    }
  }

  #ring(): void {
    this.#rings++
    this.#changed.ring()
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(() => {
      this.#ended.signal.throwIfAborted()
      return task()
    })
    this.#tail = turn.catch(() => {
      // Makes the next turn read the links from storage again, because memory may differ from it now.
      this.#links = undefined
    })
    return turn
  }

  /** False while records are still arriving, because the missing ones would look deleted. */
  #isReady(): boolean {
    const { state, lastSync } = this.#options.sync.status()
    return lastSync > 0 && state !== 'syncing' && state !== 'signed-out'
  }

  async #load(): Promise<Map<string, Link>> {
    if (this.#links) return this.#links
    const { storage, session } = this.#options
    const stored = (await storage.get([groupsKey]))[groupsKey] as Record<string, Link> | undefined
    const links = new Map(Object.entries(structuredClone(stored ?? {})))
    const isStarting = !(await session.get(groupsKey))[groupsKey]
    if (isStarting) {
      this.#startedAt = this.#clock.now()
      for (const link of links.values()) {
        if (link.place !== null) link.isLost = true
        link.place = null
        for (const entry of link.entries) entry.tab = -1
      }
    }
    this.#isStarting = isStarting
    this.#links = links
    return links
  }

  async #store(): Promise<void> {
    await this.#options.storage.set({ [groupsKey]: Object.fromEntries(await this.#load()) })
  }

  #nodes(): TreeNode[] {
    return this.#options.sync.groups.tree().filter(({ bookmark }) => kindOf(bookmark) === 'folder')
  }

  #node(id: string): TreeNode {
    const node = this.#nodes().find(({ bookmark }) => bookmark.id === id)
    if (!node) throw new RangeError(`There is no group ${id}`)
    return node
  }

  #places(): Promise<Place[]> {
    return readPlaces(this.#options.tabs, this.#options.tabGroups)
  }

  /** The group or window in which the saved group is open. */
  async #placeOf(id: string): Promise<Place | undefined> {
    const link = (await this.#load()).get(id)
    return (await this.#openPlaces()).get(link as Link)
  }

  /** The groups and windows of the open links. A window is without the tabs of groups that are saved themselves. */
  async #openPlaces(places?: Place[]): Promise<Map<Link, Place>> {
    const links = [...(await this.#load()).values()]
    const all = places ?? (await this.#places())
    const find = ({ kind, place }: Link) => all.find((one) => one.kind === kind && one.id === place)
    const found = new Map(links.flatMap((link) => [[link, find(link)] as const]).filter(([, place]) => place))
    const inGroups = new Set(
      [...found.values()].flatMap((place) => (place?.kind === 'group' ? place.tabs.map(({ tab }) => tab) : [])),
    )
    const own = (place: Place) => ({ ...place, tabs: place.tabs.filter(({ tab }) => !inGroups.has(tab)) })
    return new Map([...found].map(([link, place]) => [link, place?.kind === 'window' ? own(place) : (place as Place)]))
  }

  async #compare(): Promise<void> {
    const isReady = this.#isReady()
    this.#isWaiting = !isReady
    const links = await this.#load()
    const places = await this.#places()
    const nodes = new Map(this.#nodes().map((node) => [node.bookmark.id, node]))
    for (const id of links.keys()) if (isReady && !nodes.has(id)) links.delete(id)
    const isThere = new Set(places.map(({ kind, id }) => `${kind} ${id}`))
    for (const link of links.values()) {
      // A group that was closed, alone or with its window, stays saved.
      if (!isThere.has(`${link.kind} ${link.place}`)) link.place = null
    }
    this.#meet(links, places, nodes)
    const open = await this.#openPlaces(places)
    const moved = isReady ? this.#moveBetween(open) : new Set<string>()
    for (const [id, link] of isReady ? links : []) {
      const place = open.get(link)
      if (place) await this.#writer.write(nodes.get(id) as TreeNode, link, place, { moved })
    }
    this.#findScattered(links, places, nodes)
    await this.#store()
  }

  /** True while a browser that was just started waits for its tabs' addresses. */
  async #isArriving(): Promise<boolean> {
    if (!this.#isStarting || this.#clock.now() - this.#startedAt > mostUnrestMs) return false
    return (await this.#places()).some(({ tabs }) => tabs.some(({ url, isLoading }) => url === '' && isLoading))
  }

  /** Links saved groups with those that the browser restored. Notes similar ones, about which the person decides. */
  #meet(links: Map<string, Link>, places: Place[], nodes: ReadonlyMap<string, TreeNode>): void {
    const taken = new Set([...links.values()].map(({ kind, place }) => `${kind} ${place}`))
    const own = this.#options.tabGroups ? 'group' : 'window'
    this.#alike.clear()
    for (const { node, place, isRestored } of findAlike(nodes.values(), links, places, own, this.#isStarting)) {
      const { id } = node.bookmark
      if (this.#alike.has(id) || typeof links.get(id)?.place === 'number' || taken.has(`${place.kind} ${place.id}`))
        continue
      taken.add(`${place.kind} ${place.id}`)
      if (isRestored) this.#take(node, place, links)
      else this.#alike.set(id, place)
    }
  }

  /** Links the group. Its differences are shown but not written, because a crash may have lost tabs. */
  #take(node: TreeNode, place: Place, links: Map<string, Link>): void {
    const { id, title, color = '' } = node.bookmark
    const shown = { title: place.title ?? title, color: place.color ?? color }
    const saved = { title: shown.title, color: shownColor(color) === shown.color ? color : shown.color }
    const entries = meetTabs(place.tabs, links.get(id)?.entries ?? [], tabsOf(node))
    links.set(id, { kind: place.kind, place: place.id, shown, saved, entries })
  }

  /** Tabs that moved between saved groups keep their entries, and so their records. Returns the records' ids. */
  #moveBetween(open: ReadonlyMap<Link, Place>): Set<string> {
    const owners = new Map(
      [...open.keys()].flatMap((link) => link.entries.map((entry) => [entry.tab, { link, entry }])),
    )
    const moved = new Set<string>()
    for (const [link, place] of open) {
      for (const { tab } of place.tabs) {
        const owner = owners.get(tab)
        if (!owner || owner.link === link) continue
        owner.link.entries = owner.link.entries.filter((entry) => entry !== owner.entry)
        link.entries.push(owner.entry)
        moved.add(owner.entry.id)
      }
    }
    return moved
  }

  #findScattered(links: ReadonlyMap<string, Link>, places: Place[], nodes: ReadonlyMap<string, TreeNode>): void {
    const all = looseIn(places).map(({ url }) => url)
    this.#scattered = new Set()
    for (const [id, link] of links) {
      const node = nodes.get(id)
      const urls = node ? tabsOf(node).flatMap(({ url }) => (isOpenable(url) ? url : [])) : []
      const found = urls.filter((url) => all.includes(url))
      if (link.isLost && link.kind === 'group' && found.length >= Math.max(1, urls.length / 2)) this.#scattered.add(id)
      else if (!this.#isStarting) delete link.isLost
    }
  }

  async #create(title: string, place: Place | undefined, tabs: readonly LiveTab[]): Promise<void> {
    const { groups } = this.#options.sync
    const id = uuidv7()
    const color = shownColor(place?.color)
    await groups.put({ id, source: 'groups', title, color, dateAdded: this.#writer.date() })
    const look = { title, color }
    if (place) {
      const { kind } = place
      ;(await this.#load()).set(id, { kind, place: place.id, shown: look, saved: { ...look }, entries: [] })
      return this.#store()
    }
    for (const live of tabs) {
      const made = newEntry(live)
      if (made) await groups.put(this.#writer.toRecord(made.entry, live, id))
    }
  }

  async #name(kind: Place['kind'], placeId: number, title: string): Promise<void> {
    if (kind === 'group') await this.#options.tabGroups?.update(placeId, { title })
  }
}
