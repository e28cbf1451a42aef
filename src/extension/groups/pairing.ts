import type { PlaintextBookmark } from '../../client/bookmark.ts'
import { uuidv7 } from '../../client/ids.ts'
import type { Patch } from '../../client/sync/edits/put.ts'
import type { LiveTab } from './places.ts'

/** A tab of a saved group, as this browser showed it when it was last looked at. */
export interface Entry {
  /** The record's. There may be none, if another device has deleted it or a restart has brought the tab back. */
  id: string
  /** The browser's id; -1 if the browser was restarted. */
  tab: number
  url: string
  /** The record's address that it stands for: a page may lead on to another one by itself. */
  saved: string
  /** It has not loaded yet. The address that it then arrives at is not the person's doing. */
  isFresh?: true
  /** The title of what is too large to be stored. */
  refused?: string
}

type Known = Entry | undefined

/**
 * Pairs the tabs of the browser with what is known of them: by the browser's id, or by the address, as after a restart; Chrome
 * also gives a tab another id when it unloads it.
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
  // A worker that died, or another device with the same group, has stored it already.
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
 * The entries of a group that was just found again. A tab that is missing may not have been closed by the person, and one that
 * is new may not be wanted.
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

/** Nothing of a tab without an address, which is waited for. */
export function newEntry({ tab, url }: LiveTab): { entry: Entry; patch: Patch } | undefined {
  return url === '' ? undefined : { entry: { id: uuidv7(), tab, url, saved: url }, patch: {} }
}

/**
 * Returns the entry of a tab as it is now, and the change of its record.
 *
 * @param title the record's
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
  // It had none when it was stored. Later ones change by themselves, as for unread messages.
  const isWanted = title === '' || title === known.saved
  return { entry, patch: isNamed && isWanted ? { title: live.title } : {} }
}
