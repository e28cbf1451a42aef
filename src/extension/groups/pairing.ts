import type { PlaintextBookmark } from '../../client/bookmark.ts'
import { uuidv7 } from '../../client/ids.ts'
import type { Patch } from '../../client/sync/edits/put.ts'
import type { LiveTab } from './places.ts'

/** A tab of a saved group, as this browser showed it at the last comparison. */
export interface Entry {
  /** The record's id. The record may be missing: another device deleted it, or a restart brought the tab back. */
  id: string
  /** The browser's id of the tab; -1 if the browser was restarted since. */
  tab: number
  url: string
  /** The record's address that `url` stands for. It may differ, because a page may redirect. */
  saved: string
  /** True until the tab has loaded. A redirect before that is not the person's change. */
  isFresh?: true
  /** The title of a tab that is too large to be stored. Undefined if it fits. */
  refused?: string
}

type Known = Entry | undefined

/**
 * Pairs the browser's tabs with their entries by the browser's id, or else by the address: ids change when the browser
 * restarts, and in Chrome also when a tab is unloaded. `gone` has the entries without a tab.
 */
export function pairTabs(
  tabs: readonly LiveTab[],
  entries: readonly Entry[],
  children: readonly PlaintextBookmark[],
): { pairs: [LiveTab, Known][]; gone: Entry[] } {
  const left = new Set(entries)
  const known = new Map<LiveTab, Entry>()
  const pairBy = (isIt: (entry: Entry, live: LiveTab) => boolean) => {
    for (const live of tabs) {
      const entry = known.has(live) ? undefined : [...left].find((entry) => isIt(entry, live))
      if (!entry) continue
      known.set(live, entry)
      left.delete(entry)
    }
  }
  pairBy((entry, live) => entry.tab === live.tab)
  pairBy((entry, live) => entry.url === live.url)
  pairBy((entry, live) => entry.saved === live.url)
  // A worker that died, or another device with the same group open, may have stored the tab already.
  const ids = new Set(entries.map(({ id }) => id))
  const others = children.filter(({ id }) => !ids.has(id))
  for (const live of tabs) {
    const at = known.has(live) ? -1 : others.findIndex(({ url }) => url === live.url)
    for (const { id, url = '' } of at === -1 ? [] : others.splice(at, 1)) {
      known.set(live, { id, tab: live.tab, url, saved: url })
    }
  }
  return { pairs: tabs.map((live) => [live, known.get(live)]), gone: [...left] }
}

/**
 * Returns the entries of the tabs in a group that was just found again, without writing anything: the browser may have
 * lost the missing tabs, and the person may not want the new ones saved.
 */
export function meetTabs(
  tabs: readonly LiveTab[],
  entries: readonly Entry[],
  children: readonly PlaintextBookmark[],
): Entry[] {
  const { pairs } = pairTabs(tabs, entries, children)
  return pairs.flatMap(([live, known]) => {
    const { entry } = (known ? { entry: { ...known, tab: live.tab } } : newEntry(live)) ?? {}
    return entry ? [{ ...entry, isFresh: true as const }] : []
  })
}

/** Returns the entry of a new tab. Undefined while the tab has no address that a group stores. */
export function newEntry({ tab, url }: LiveTab): { entry: Entry; patch: Patch } | undefined {
  return url === '' ? undefined : { entry: { id: uuidv7(), tab, url, saved: url }, patch: {} }
}

/**
 * Returns the entry of a tab as it is now, and the change of its record.
 *
 * @param title the record's title; undefined if the record is missing
 */
export function follow(known: Entry, live: LiveTab, title: string | undefined): { entry: Entry; patch: Patch } {
  const { tab, url, isLoading, isUnloaded } = live
  const { isFresh, refused, ...rest } = { ...known, tab }
  if (url === '' || (isFresh && (isLoading || isUnloaded))) return { entry: { ...known, tab }, patch: {} }
  const entry: Entry = { ...rest, url, ...(isUnloaded && { isFresh: true }) }
  const isNamed = !isLoading && live.title !== ''
  if (url !== known.url && !isFresh)
    return { entry: { ...entry, saved: url }, patch: { url, title: isNamed ? live.title : url } }
  if (refused !== undefined) return { entry: { ...entry, refused }, patch: {} }
  // Stores only the first title of an address. Pages change theirs later, for example to count unread messages.
  const isWanted = title === '' || title === known.saved
  return { entry, patch: isNamed && isWanted ? { title: live.title } : {} }
}
