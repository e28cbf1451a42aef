import type { TreeNode } from '../../client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../client/bookmark.ts'
import type { Entry } from './pairing.ts'
import { type Place, similarity } from './places.ts'
import { isOpenable, shownColor } from './tabs-api.ts'

export interface Look {
  title: string
  color: string
}

/** A saved group that is, or was, open here. */
export interface Link {
  kind: Place['kind']
  /** The browser's id of the group or window; null if it is not open. */
  place: number | null
  /** True if it was open when the browser was last closed, and has not been found again. */
  isLost?: true
  /** The name and colour that the browser showed last; undefined for a new group. */
  shown?: Look
  /** The record's name and colour that `shown` stands for: a colour that this browser lacks is shown as grey. */
  saved: Look
  entries: Entry[]
}

/** How a saved group differs from the one that is open here. */
export interface Differs {
  opens: number
  closes: number
  /** Tabs with another address, plus one for another name or colour, plus one for another order. */
  changes: number
}

/** The bookmark that stores a tab of a saved group. */
export type Tab = PlaintextBookmark & { url: string }

/** The tabs of a saved group, in order. */
export function tabsOf({ children }: TreeNode): Tab[] {
  return children.flatMap(({ bookmark }) => (bookmark.url === undefined ? [] : { ...bookmark, url: bookmark.url }))
}

/** Counts how the open group differs from the saved one. All counts are 0 if it is not open here. */
export function differsFrom(node: TreeNode, link: Link | undefined): Differs {
  const { title, color } = node.bookmark
  if (typeof link?.place !== 'number') return { opens: 0, closes: 0, changes: 0 }
  const entries = new Map(link.entries.map((entry) => [entry.id, entry]))
  const tabs = new Map(tabsOf(node).map((tab) => [tab.id, tab]))
  const open = [...tabs.values()].filter(({ id }) => entries.has(id))
  const kept = link.entries.filter(({ id }) => tabs.has(id))
  const isNamed = link.kind === 'window' || (title === link.saved.title && color === link.saved.color)
  const isInOrder = open.every(({ id }, index) => kept[index]?.id === id)
  return {
    opens: [...tabs.values()].filter(({ id, url }) => !entries.has(id) && isOpenable(url)).length,
    closes: link.entries.filter(({ id, refused }) => !tabs.has(id) && refused === undefined).length,
    changes:
      open.filter(({ id, url }) => entries.get(id)?.saved !== url).length + Number(!isNamed) + Number(!isInOrder),
  }
}

/** A group or window of the browser that resembles a saved group which is not open here. */
interface Alike {
  node: TreeNode
  place: Place
  /** True if the saved group was open when the browser was closed, and the browser has now restored it. */
  isRestored: boolean
}

/**
 * Finds the browser's groups and windows that resemble saved groups by name and addresses, the best match first.
 *
 * @param kind the kind of place that is compared with saved groups that were never open here
 */
export function findAlike(
  nodes: Iterable<TreeNode>,
  links: ReadonlyMap<string, Link>,
  places: readonly Place[],
  kind: Place['kind'],
  isStarting: boolean,
): Alike[] {
  const found: (Alike & { rank: number })[] = []
  for (const node of nodes) {
    const { id, title, color } = node.bookmark
    const link = links.get(id)
    if (typeof link?.place === 'number') continue
    const saved = tabsOf(node).map(({ url }) => url)
    const seen = link?.entries.map(({ url }) => url) ?? []
    for (const place of places) {
      if ((link?.kind ?? kind) !== place.kind) continue
      const urls = place.tabs.flatMap(({ url }) => url || [])
      const likeness = Math.max(similarity(urls, seen), similarity(urls, saved))
      const isGroup = place.kind === 'group'
      const isNamed = isGroup ? [title, link?.shown?.title].includes(place.title) : link !== undefined
      if (urls.length === 0 || likeness < (isNamed ? 0.5 : 1)) continue
      const hasColor = [shownColor(color), link?.shown?.color].includes(place.color)
      // Tabs that the browser has not restored, such as its start pages, may have some of the same addresses.
      const isSame = isGroup && place.title ? isNamed : urls.length > 1 && similarity(urls, seen) === 1
      const isRestored = isStarting && link?.isLost === true && isSame
      const rank = 4 * Number(isRestored) + likeness + Number(isNamed) + Number(hasColor)
      found.push({ node, place, isRestored, rank })
    }
  }
  return found.sort((one, other) => other.rank - one.rank)
}
