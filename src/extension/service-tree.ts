import type { PlaintextBookmark } from '../client/bookmark.ts'
import { markedRoles, noteMarked, type Role } from '../client/bookmark-file/marks.ts'
import { kindOf } from '../client/bookmark-file/tree.ts'
import { paced } from '../client/timing/paced.ts'
import type { TreeNode } from '../client/tree.ts'
import { type Content, isLeftAlone, type Kind } from './entry.ts'
import { rootKey, topLevel } from './roles.ts'

export interface ServiceEntry extends Content {
  id: string
  kind: Kind
  /** The key of the folder around it: its id, or that of a browser's own folder. */
  parent: string
  bookmark: Readonly<PlaintextBookmark>
}

/** The service's bookmarks as they were at one moment, as the browser is to show them. */
export interface ServiceTree {
  /** By id, folders before what is in them. Without what this browser cannot show, and without the marked folders. */
  entries: Map<string, ServiceEntry>
  /** By the folder's key: the bookmarks in it, in order, also those without an entry. */
  lists: Map<string, Readonly<PlaintextBookmark>[]>
  /** The marked folder of each of the browser's own folders that has one. */
  marked: Map<Role, string>
}

/** What decides which of the service's bookmarks a browser shows. */
export interface Shown {
  /** The browser's own folders. A marked folder of which the browser has none is an ordinary one. */
  roles: { has(role: Role): boolean }
  hasSeparators: boolean
  /** The keys of folders that this device leaves out. */
  leftOut: ReadonlySet<string>
}

export async function readServiceTree(top: readonly TreeNode[], shown: Shown): Promise<ServiceTree> {
  const marked = await findMarked(top, shown)
  const roleById = new Map([...marked].map(([role, id]) => [id, role]))
  const out = new Set(shown.leftOut)
  const tree: ServiceTree = { entries: new Map(), lists: new Map(), marked }
  for (const role of markedRoles) tree.lists.set(rootKey(role), [])
  const pending: { key: string; nodes: readonly TreeNode[] }[] = [{ key: topLevel, nodes: top }]
  const readFolder = ({ key: parent, nodes }: (typeof pending)[number]) => {
    tree.lists.set(
      parent,
      nodes.map(({ bookmark }) => bookmark),
    )
    for (const { bookmark, children } of nodes) {
      const { id, url } = bookmark
      const kind = kindOf(bookmark)
      const role = roleById.get(id)
      // Also what is left out may have a marked folder in it.
      if (kind === 'folder') pending.push({ key: role ? rootKey(role) : id, nodes: children })
      if (role) continue
      if (out.has(parent)) out.add(id)
      const isHidden = kind === 'separator' && !shown.hasSeparators
      if (out.has(id) || isHidden || isLeftAlone(url)) continue
      // Another client may have written anything.
      const title = kind !== 'separator' && typeof bookmark.title === 'string' ? bookmark.title : ''
      const entry = { id, kind, title, parent, bookmark }
      tree.entries.set(id, kind === 'link' ? { ...entry, url: url as string } : entry)
    }
  }
  await paced(pending, readFolder)
  return tree
}

async function findMarked(top: readonly TreeNode[], { roles }: Shown): Promise<Map<Role, string>> {
  const marked = new Map<Role, string>()
  const pending = [...top]
  const visit = ({ bookmark, children }: TreeNode) => {
    for (const child of children) pending.push(child)
    noteMarked(marked, bookmark)
  }
  await paced(pending, visit)
  for (const role of markedRoles) if (!roles.has(role)) marked.delete(role)
  return marked
}
