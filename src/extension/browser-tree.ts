import type { Role } from '../client/bookmark-file/marks.ts'
import { paced } from '../client/timing/paced.ts'
import { type Content, isLeftAlone, type Kind } from './entry.ts'
import type { BrowserNode } from './platform.ts'
import { findRoots, isFirefox } from './roles.ts'

export interface BrowserEntry extends Content {
  browserId: string
  kind: Kind
  /** The id of the folder around it. */
  parent: string
  dateAdded: number | undefined
}

/** The browser's bookmarks as they were at one moment, as far as they are to be kept in step. */
export interface BrowserTree {
  roots: Map<Role, { browserId: string; title: string }>
  /** By the browser's id, folders before what is in them; without the roots. */
  entries: Map<string, BrowserEntry>
  /** By folder: the ids of all that is in it, in order, also of what is left alone. */
  lists: Map<string, string[]>
  isFirefox: boolean
}

/** @param leftOut the browser's ids of folders that this device leaves out */
export async function readBrowserTree(
  [top]: readonly BrowserNode[],
  leftOut: ReadonlySet<string>,
): Promise<BrowserTree> {
  if (!top) throw new Error('The browser has no bookmarks')
  const tree: BrowserTree = { roots: new Map(), entries: new Map(), lists: new Map(), isFirefox: isFirefox(top) }
  const pending: BrowserNode[] = []
  for (const [role, root] of findRoots(top)) {
    tree.roots.set(role, { browserId: root.id, title: root.title })
    if (!leftOut.has(root.id)) pending.push(root)
  }
  const readFolder = ({ id: parent, children = [] }: BrowserNode) => {
    tree.lists.set(
      parent,
      children.map(({ id }) => id),
    )
    for (const node of children) {
      const kind = kindOfNode(node)
      const entry = {
        browserId: node.id,
        kind,
        title: kind === 'separator' ? '' : node.title,
        parent,
        dateAdded: node.dateAdded,
      }
      const url = kind === 'link' ? node.url : undefined
      if (node.unmodifiable || isLeftAlone(url) || leftOut.has(node.id)) continue
      tree.entries.set(node.id, url === undefined ? entry : { ...entry, url })
      if (kind === 'folder') pending.push(node)
    }
  }
  await paced(pending, readFolder)
  return tree
}

/** Firefox gives separators an address, too. */
export function kindOfNode({ type, url }: BrowserNode): Kind {
  if (type === 'separator') return 'separator'
  return url === undefined ? 'folder' : 'link'
}
