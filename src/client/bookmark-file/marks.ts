import { kindOf } from '../bookmark/tree.ts'
import type { PlaintextBookmark } from '../bookmark.ts'

/** The roles of the folders that a browser makes itself: its toolbar, Other Bookmarks and so on. */
export type Role = 'toolbar' | 'other' | 'mobile' | 'menu'

export type MarkedRole = Exclude<Role, 'other'>

/** The attributes that mark these folders in a bookmark file. Of them, browsers write only `personal_toolbar_folder`. */
export const markOf: Readonly<Record<MarkedRole, string>> = {
  toolbar: 'personal_toolbar_folder',
  mobile: 'mobile_bookmarks_folder',
  menu: 'bookmarks_menu_folder',
}

/** The attribute that marks Other Bookmarks in Firefox's bookmark files. */
export const otherMark = 'unfiled_bookmarks_folder'

export const markedRoles = Object.keys(markOf) as MarkedRole[]

/** The id of a marked folder that the extension makes. Fixed, so that two devices that make the folder make the same one. */
export function markedId(role: Role): string {
  return `browser-${role}`
}

export function isMarked({ attributes }: Readonly<PlaintextBookmark>, role: MarkedRole): boolean {
  return attributes?.[markOf[role]] === 'true'
}

/** The role of the browser's folder that an item of a bookmark file stands for, if any. */
export function roleOf(item: Readonly<PlaintextBookmark> | undefined): Role | undefined {
  if (!item?.attributes || kindOf(item) !== 'folder') return undefined
  return item.attributes[otherMark] === 'true' ? 'other' : markedRoles.find((role) => isMarked(item, role))
}

/**
 * Adds the bookmark to `marked` if it is a marked folder. If several folders have the same mark, the one that the extension
 * made counts, or else the one with the lowest id, so that every device chooses the same.
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
