import type { TreeNode } from '../../client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../../client/bookmark.ts'
import type { Entry } from './pairing.ts'
import type { Place } from './places.ts'
import { isOpenable } from './tabs-api.ts'

/** A group's name and colour. */
export interface Look {
  title: string
  color: string
}

/** A saved group that is, or was, open here. */
export interface Link {
  kind: Place['kind']
  /** The browser's id of the group or window; null if it is not open. */
  place: number | null
  /** It was open when the browser was closed, and was not found since. */
  isLost?: true
  /** The name and colour that the browser showed last; undefined of a new group. */
  shown?: Look
  /** The name and colour of the record that it stands for. */
  saved: Look
  entries: Entry[]
}

/** How a saved group differs from the one that is open here. */
export interface Differs {
  opens: number
  closes: number
  /** Other addresses, name, colour or order. */
  changes: number
}

/** A tab's record. */
export type Tab = PlaintextBookmark & { url: string }

/** The tabs of a saved group, in order. */
export function tabsOf({ children }: TreeNode): Tab[] {
  return children.flatMap(({ bookmark }) => (bookmark.url === undefined ? [] : { ...bookmark, url: bookmark.url }))
}

/** How the group here differs from what is saved; by nothing if it is not open. */
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
