import { kindOf } from '../bookmark/tree.ts'
import type { PlaintextBookmark } from '../bookmark.ts'

/** The roles of a browser's own folders. */
export type Role = 'toolbar' | 'other' | 'mobile' | 'menu'

export type MarkedRole = Exclude<Role, 'other'>

/** The attribute that marks each folder in a bookmark file. Browsers themselves write `personal_toolbar_folder`. */
export const markOf: Readonly<Record<MarkedRole, string>> = {
  toolbar: 'personal_toolbar_folder',
  mobile: 'mobile_bookmarks_folder',
  menu: 'bookmarks_menu_folder',
}

/** The attribute that marks Other Bookmarks in Firefox's bookmark files. */
export const otherMark = 'unfiled_bookmarks_folder'

export const markedRoles = Object.keys(markOf) as MarkedRole[]

/** The id of a marked folder made by an extension. It is fixed: two devices that make the folder at once make the same one. */
export function markedId(role: Role): string {
  return `browser-${role}`
}

export function isMarked({ attributes }: Readonly<PlaintextBookmark>, role: MarkedRole): boolean {
  return attributes?.[markOf[role]] === 'true'
}

/** The browser's own folder that an item of a bookmark file stands for, if any. */
export function roleOf(item: Readonly<PlaintextBookmark> | undefined): Role | undefined {
  if (!item?.attributes || kindOf(item) !== 'folder') return undefined
  return item.attributes[otherMark] === 'true' ? 'other' : markedRoles.find((role) => isMarked(item, role))
}

/**
 * If there are several marked folders, it is the one that an extension made, or else the one with the lowest id: the
 * same on every device.
 */
export function noteMarked(marked: Map<Role, string | undefined>, bookmark: Readonly<PlaintextBookmark>): void {
  if (!bookmark.attributes || kindOf(bookmark) !== 'folder') return
  for (const role of markedRoles) {
    if (!isMarked(bookmark, role)) continue
    const known = marked.get(role)
    const isBetter = known === undefined || bookmark.id === markedId(role) || bookmark.id < known
    if (isBetter && known !== markedId(role)) marked.set(role, bookmark.id)
  }
}
