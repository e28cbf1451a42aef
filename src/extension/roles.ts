import type { Role } from '../client/bookmark-file/marks.ts'
import type { BrowserNode } from './platform.ts'

/** The key of a browser's own folder. No id of a bookmark has this form. */
export function rootKey(role: Role): string {
  return `\0${role}`
}

/** What is at the top level of the service is in the browsers' `other`, as in Chrome's files. */
export const topLevel = rootKey('other')

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
 * The browser's own folders. Chrome has no menu, and shows `mobile` only if something is in it. If Chrome has one twice, for
 * its own sync and for this device alone, it is the one that Chrome does not sync.
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
