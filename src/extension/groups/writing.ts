import { spreadPositions } from '../../client/bookmark/spread-positions.ts'
import type { TreeNode } from '../../client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../client/bookmark.ts'
import { RecordError } from '../../client/errors.ts'
import { uuidv7 } from '../../client/ids.ts'
import type { Patch } from '../../client/sync/edits/put.ts'
import type { Groups, Sync } from '../../client/sync/sync.ts'
import type { Clock } from '../../client/timing/clock.ts'
import { idsInPlace, mergeOrder } from '../order.ts'
import { type Link, type Tab, tabsOf } from './links.ts'
import { type Entry, follow, newEntry, pairTabs } from './pairing.ts'
import type { LiveTab, Place } from './places.ts'

/** The part of a sync that stores groups. */
export type GroupsSync = Pick<Sync, 'deviceId'> & { groups: Pick<Groups, 'tree' | 'get' | 'put' | 'update' | 'remove'> }

/** Writes a person's changes to an open group into its records. */
export class GroupWriter {
  readonly #sync: GroupsSync
  readonly #clock: Clock

  constructor(sync: GroupsSync, clock: Clock) {
    this.#sync = sync
    this.#clock = clock
  }

  /**
   * Writes the person's changes since the last comparison. `moved`: ids of tabs from another saved group. `isWhole`:
   * the saved group becomes like the open one.
   */
  async write(
    node: TreeNode,
    link: Link,
    place: Place,
    { moved = new Set<string>(), isWhole = false }: { moved?: ReadonlySet<string>; isWhole?: boolean },
  ): Promise<void> {
    const { groups } = this.#sync
    const { id } = node.bookmark
    const children = tabsOf(node)
    const records = new Map(children.map((tab) => [tab.id, tab]))
    const before = link.entries.filter((entry) => !moved.has(entry.id)).map((entry) => entry.id)
    const { pairs, gone } = pairTabs(
      place.tabs,
      link.entries,
      children.filter((tab) => !moved.has(tab.id)),
    )
    // If all tabs of a window are gone at once, it was closed. Its group stays saved.
    if (link.kind === 'window' && gone.length === link.entries.length && gone.length > 0) {
      link.place = null
      return
    }
    const entries: Entry[] = []
    const patches = new Map<string, Patch>()
    const added: PlaintextBookmark[] = []
    for (const [live, known] of pairs) {
      const followed = known ? follow(known, live, records.get(known.id)?.title) : newEntry(live)
      if (!followed) continue
      const { entry, patch } = followed
      entries.push(entry)
      const isThere = records.has(entry.id) || moved.has(entry.id)
      if (!known || (!isThere && (isWhole || patch.url !== undefined))) {
        // Another device has moved the record into another group. It stays there, and this tab gets a new one.
        if (groups.get(entry.id)) entry.id = uuidv7()
        added.push(this.toRecord(entry, live, id))
      } else if (isThere) {
        const place = moved.has(entry.id) ? { parentId: id } : {}
        const isOther = isWhole && records.get(entry.id)?.url !== entry.url && entry.refused === undefined
        if (isOther) entry.saved = entry.url
        patches.set(entry.id, {
          ...patch,
          ...place,
          ...(isOther && { url: entry.url, title: live.title || entry.url }),
        })
      }
    }
    const removed = gone.filter((entry) => records.get(entry.id)?.url === entry.saved)
    this.#order(isWhole ? [] : before, entries, added, children, patches, isWhole)
    await this.#add(added, entries)
    for (const [tabId, patch] of patches) await this.#change(tabId, patch, entries)
    if (removed.length > 0) await groups.remove(removed.map((entry) => entry.id))
    link.entries = entries
    await this.#writeLook(id, link, place)
  }

  async #writeLook(id: string, link: Link, { title, color }: Place): Promise<void> {
    if (title === undefined || color === undefined) return
    const { shown = { title, color }, saved } = link
    const patch = { ...(title !== shown.title && { title }), ...(color !== shown.color && { color }) }
    if (Object.keys(patch).length > 0) await this.#sync.groups.update(id, patch)
    link.saved = { ...saved, ...patch }
    link.shown = { title, color }
  }

  /** Gives positions to tabs that are new or were moved here. Tabs that other devices have moved keep theirs. */
  #order(
    before: readonly string[],
    entries: readonly Entry[],
    added: PlaintextBookmark[],
    children: readonly Tab[],
    patches: Map<string, Patch>,
    isWhole: boolean,
  ): void {
    const there = new Map(children.map((tab, rank) => [tab.id, { rank, position: tab.position }]))
    const isNew = new Map(added.map((tab) => [tab.id, tab]))
    const isPlaced = (id: string) => there.has(id) || isNew.has(id) || patches.get(id)?.parentId !== undefined
    const here = entries.map(({ id }) => id).filter(isPlaced)
    const inService = children.map(({ id }) => id)
    const agreed = before.filter(isPlaced)
    const desired = isWhole ? mergeWhole(here, inService) : mergeOrder(agreed, here, inService)
    const steady = idsInPlace(desired, (id) => there.get(id)?.rank)
    const isSteady = (id: string) => (steady.has(id) ? { position: there.get(id)?.position } : undefined)
    for (const [id, position] of spreadPositions(desired, isSteady, this.#sync.deviceId)) {
      const tab = isNew.get(id)
      if (tab) tab.position = position
      else patches.set(id, { ...patches.get(id), position })
    }
  }

  async #add(added: readonly PlaintextBookmark[], entries: readonly Entry[]): Promise<void> {
    const { groups } = this.#sync
    try {
      await groups.put(added)
    } catch (error) {
      if (!(error instanceof RecordError)) throw error
      for (const tab of added) await this.#unlessRefused(tab.id, tab.title, entries, () => groups.put(tab))
    }
  }

  async #change(id: string, patch: Patch, entries: readonly Entry[]): Promise<void> {
    if (Object.keys(patch).length === 0) return
    const update = () => this.#sync.groups.update(id, patch)
    await this.#unlessRefused(id, patch.title ?? '', entries, update).catch((error) => {
      // Another device has deleted it just now.
      if (!(error instanceof RangeError)) throw error
    })
  }

  /** If the record is too large, notes that in the entry instead of throwing. */
  async #unlessRefused(
    id: string,
    title: string,
    entries: readonly Entry[],
    write: () => Promise<void>,
  ): Promise<void> {
    const entry = entries.find((entry) => entry.id === id)
    try {
      await write()
    } catch (error) {
      if (!(error instanceof RecordError) || !entry) throw error
      entry.refused = title.slice(0, 200)
      entry.saved = this.#sync.groups.get(id)?.url ?? entry.saved
    }
  }

  toRecord({ id, url }: Entry, { title, isLoading }: LiveTab, parentId: string): PlaintextBookmark {
    const named = isLoading || title === '' ? url : title
    return { id, source: 'groups', title: named, url, parentId, dateAdded: this.date() }
  }

  date(): string {
    return new Date(this.#clock.now()).toISOString()
  }
}

/** Puts the open tabs in their order here. Each other tab stays behind the one that it follows in the saved group. */
function mergeWhole(here: readonly string[], inService: readonly string[]): string[] {
  return mergeOrder(inService.length > 0 ? inService : here, here, inService)
}
