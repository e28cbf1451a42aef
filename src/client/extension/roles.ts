import type { PlaintextBookmark } from '../bookmark.ts'
import type { BrowserNode } from './platform.ts'

/** What a browser's own folders are for. Chrome has no menu, and shows `mobile` only if something is in it. */
export type Role = 'toolbar' | 'other' | 'mobile' | 'menu'

/**
 * The folder that holds what is in a browser's folder, by the attribute that marks it; `personal_toolbar_folder` is that of
 * the browsers' bookmark files. What is at the top level of the service is in the browsers' `other`, as in Chrome's files.
 */
export const markOf: Readonly<Record<Exclude<Role, 'other'>, string>> = {
  toolbar: 'personal_toolbar_folder',
  mobile: 'mobile_bookmarks_folder',
  menu: 'bookmarks_menu_folder',
}

export const markedRoles = Object.keys(markOf) as (keyof typeof markOf)[]

/** The key of a browser's own folder. No id of a bookmark has this form. */
export function rootKey(role: Role): string {
  return `\0${role}`
}

export const topLevel = rootKey('other')

/** The id of a marked folder made by an extension. Two devices that make it at the same time make the same. */
export function markedId(role: Role): string {
  return `browser-${role}`
}

export function isMarked({ attributes }: Readonly<PlaintextBookmark>, role: keyof typeof markOf): boolean {
  return attributes?.[markOf[role]] === 'true'
}

const chromeTypes: Record<string, Role> = { 'bookmarks-bar': 'toolbar', other: 'other', mobile: 'mobile' }
const chromeIds: Record<string, Role> = { 1: 'toolbar', 2: 'other', 3: 'mobile' }
const firefoxIds: Record<string, Role> = {
  toolbar_____: 'toolbar',
  unfiled_____: 'other',
  mobile______: 'mobile',
  menu________: 'menu',
}

export function isFirefox(top: BrowserNode): boolean {
  return top.id === 'root________'
}

/**
 * The browser's own folders. If Chrome has one twice, for its own sync and for this device alone, it is the one that Chrome
 * does not sync.
 */
export function findRoots(top: BrowserNode): Map<Role, BrowserNode> {
  const nodes = top.children ?? []
  const hasTypes = nodes.some(({ folderType }) => folderType !== undefined)
  const roleOf = ({ id, folderType }: BrowserNode) => {
    if (isFirefox(top)) return firefoxIds[id]
    return hasTypes ? chromeTypes[folderType ?? ''] : chromeIds[id]
  }
  const roots = new Map<Role, BrowserNode>()
  for (const node of nodes) {
    const role = roleOf(node)
    if (role && (!roots.has(role) || node.syncing === false)) roots.set(role, node)
  }
  return roots
}
