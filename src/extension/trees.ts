/** Reads the browser's bookmarks and the service's bookmarks into trees whose entries have the same form. */
import { kindOf, type TreeNode } from '../client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../client/bookmark.ts'
import { markedRoles, noteMarked, type Role } from '../client/bookmark-file/marks.ts'
import { paced } from '../client/timing/paced.ts'
import type { BrowserNode } from './browser-api.ts'

/** A folder, a link or a separator. */
export type Kind = ReturnType<typeof kindOf>

/** The part of a bookmark that both a browser and the service have. */
export interface Content {
  title: string
  /** Only for links. */
  url?: string | undefined
}

/** Firefox shortens longer titles (characters). */
const mostTitleLength = 4096

/** True for Firefox's queries. They work only in the profile that has them, so neither side's are synced. */
export function isLeftAlone(url: unknown): boolean {
  return typeof url === 'string' && url.startsWith('place:')
}

export function contentOf({ title, url }: Content): { title: string; url?: string } {
  return url === undefined ? { title } : { title, url }
}

export function isSameContent(one: Content, other: Content): boolean {
  return one.title === other.title && one.url === other.url
}

/** The service's bookmark for a new browser entry. */
export function newBookmark(
  id: string,
  { kind, dateAdded, ...shown }: Content & { kind: Kind; dateAdded?: number | undefined },
  place: Pick<PlaintextBookmark, 'parentId' | 'position'>,
): PlaintextBookmark {
  const type = kind === 'separator' ? { type: kind } : {}
  const made = dateAdded === undefined ? {} : { dateAdded: new Date(dateAdded).toISOString() }
  return { id, ...contentOf(shown), ...type, ...place, ...made, source: 'bookmarks' }
}

/** Returns a text that entries share if they count as the same within a folder. Browsers rewrite addresses and titles. */
export function likenessOf({ kind, title, url }: Content & { kind: Kind }): string {
  if (kind === 'link') {
    const address = URL.canParse(url as string) ? new URL(url as string).href : url
    // Chrome stores `about:config` as `chrome://config/`.
    return `link ${address?.replace(/^(?:about:|chrome:\/\/)(.*?)\/?$/, 'about:$1')}`
  }
  return kind === 'folder' ? `folder ${titleLikenessOf(title)}` : kind
}

/** Returns a title in a form that is the same in all browsers. */
export function titleLikenessOf(title: string): string {
  return title.slice(0, mostTitleLength).replace(/\s+/g, ' ').trim()
}

/** The key of one of the browser's own folders. No bookmark id has this form. */
export function rootKey(role: Role): string {
  return `\0${role}`
}

/** The key of the service's top level, which corresponds to the browsers' `other` folder, as in Chrome's bookmark files. */
export const topLevel = rootKey('other')

const chromeTypes: Record<string, Role> = { 'bookmarks-bar': 'toolbar', other: 'other', mobile: 'mobile' }
const chromeIds: Record<string, Role> = { 1: 'toolbar', 2: 'other', 3: 'mobile' }
const firefoxIds: Record<string, Role> = {
  toolbar_____: 'toolbar',
  unfiled_____: 'other',
  mobile______: 'mobile',
  menu________: 'menu',
}

function isFirefox(top: BrowserNode): boolean {
  return top.id === 'root________'
}

/** The browser's own folders by role. Chrome has no menu folder, and shows `mobile` only if it has contents. */
function ownFolders(top: BrowserNode): [Role, BrowserNode][] {
  const nodes = top.children ?? []
  const hasTypes = nodes.some(({ folderType }) => folderType !== undefined)
  const roleOf = ({ id, folderType }: BrowserNode) => {
    if (isFirefox(top)) return firefoxIds[id]
    return hasTypes ? chromeTypes[folderType ?? ''] : chromeIds[id]
  }
  return nodes.flatMap((node) => {
    const role = roleOf(node)
    return role ? [[role, node]] : []
  })
}

/** The browser's ids of its own folders that are kept in step, such as the bookmarks bar. */
export type Roots = ReadonlyMap<Role, string>

/**
 * Finds the browser's own folders. Chrome may have one twice, in the account and on the device, and hides the device's
 * while it is empty. The device's is chosen if it is visible. A choice stays, even if Chrome hides that folder later.
 */
function findRoots(top: BrowserNode, known: Roots): Map<Role, BrowserNode> {
  const roots = new Map<Role, BrowserNode>()
  for (const [role, node] of ownFolders(top)) {
    const isKnown = node.id === known.get(role)
    const isOwn = node.syncing === false && roots.get(role)?.id !== known.get(role)
    if (!roots.has(role) || isKnown || isOwn) roots.set(role, node)
  }
  for (const [role, node] of roots) {
    const id = known.get(role) ?? node.id
    if (id !== node.id && node.syncing) roots.set(role, { id, title: node.title, children: [] })
  }
  return roots
}

/** The folders of the account that Chrome's user is signed in to, each with its counterpart on this device. */
export function accountFolders(top: BrowserNode, known: Roots): { inAccount: BrowserNode; own: BrowserNode }[] {
  const roots = findRoots(top, known)
  return ownFolders(top).flatMap(([role, inAccount]) => {
    const own = roots.get(role)
    return own && own.id !== inAccount.id && inAccount.syncing ? [{ inAccount, own }] : []
  })
}

export interface BrowserEntry extends Content {
  browserId: string
  kind: Kind
  /** The browser's id of the folder around it. */
  parent: string
  dateAdded: number | undefined
}

/** A snapshot of the browser's bookmarks that are kept in step. Its roots are the browser's own folders. */
export interface BrowserTree {
  roots: Map<Role, { browserId: string; title: string }>
  /** Keyed by the browser's id; folders before their contents, without the roots. */
  entries: Map<string, BrowserEntry>
  /** The ids of everything in a folder, in order, including nodes that are not synced. */
  lists: Map<string, string[]>
  isFirefox: boolean
}

/**
 * @param leftOut the browser's ids of folders that this device leaves out
 * @param known the browser's own folders that were kept in step before
 */
export async function readBrowserTree(
  [top]: readonly BrowserNode[],
  leftOut: ReadonlySet<string>,
  known: Roots,
): Promise<BrowserTree> {
  if (!top) throw new Error('The browser has no bookmarks')
  const tree: BrowserTree = { roots: new Map(), entries: new Map(), lists: new Map(), isFirefox: isFirefox(top) }
  const pending: BrowserNode[] = []
  for (const [role, root] of findRoots(top, known)) {
    tree.roots.set(role, { browserId: root.id, title: root.title })
    if (!leftOut.has(root.id)) pending.push(root)
  }
  const readFolder = ({ id: parent, children = [] }: BrowserNode) => {
    tree.lists.set(
      parent,
      children.map(({ id }) => id),
    )
    for (const node of children) {
      const { id: browserId, dateAdded } = node
      const kind = kindOfNode(node)
      const url = kind === 'link' ? node.url : undefined
      if (node.unmodifiable || isLeftAlone(url) || leftOut.has(browserId)) continue
      const content = contentOf({ title: kind === 'separator' ? '' : node.title, url })
      tree.entries.set(browserId, { browserId, kind, parent, dateAdded, ...content })
      if (kind === 'folder') pending.push(node)
    }
  }
  await paced(pending, readFolder)
  return tree
}

/** Checks the type first, because Firefox gives separators an address, too. */
export function kindOfNode({ type, url }: BrowserNode): Kind {
  if (type === 'separator') return 'separator'
  return url === undefined ? 'folder' : 'link'
}

export interface ServiceEntry extends Content {
  id: string
  kind: Kind
  /** The key of the folder around it: the folder's id, or the `rootKey` of one of the browser's own folders. */
  parent: string
  bookmark: Readonly<PlaintextBookmark>
}

/** A snapshot of the service's bookmarks for the browser. */
export interface ServiceTree {
  /** Keyed by id; folders before their contents. Without marked folders and bookmarks that this browser does not show. */
  entries: Map<string, ServiceEntry>
  /** The bookmarks of a folder in order, by the folder's key, including those without an entry. */
  lists: Map<string, Readonly<PlaintextBookmark>[]>
  /** The ids of the marked folders: by an attribute, each is the counterpart of one of the browser's own folders. */
  marked: Map<Role, string>
}

/** Selects the service's bookmarks that the browser shows. */
interface Shown {
  /** The browser's own folders. A marked folder without a counterpart counts as an ordinary folder. */
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
      // Also reads folders that are left out, because they may contain a marked folder.
      if (kind === 'folder') pending.push({ key: role ? rootKey(role) : id, nodes: children })
      if (role) continue
      if (out.has(parent)) out.add(id)
      // Starred repositories stay out of the browser until the user has put them into a folder.
      const isLooseStar = parent === topLevel && bookmark.source === 'stars'
      const isHidden = isLooseStar || (kind === 'separator' && !shown.hasSeparators)
      if (out.has(id) || isHidden || isLeftAlone(url)) continue
      tree.entries.set(id, toEntry(bookmark, parent))
    }
  }
  await paced(pending, readFolder)
  return tree
}

/** @param parent the key of the folder around it */
export function toEntry(bookmark: Readonly<PlaintextBookmark>, parent: string): ServiceEntry {
  const { id, url } = bookmark
  const kind = kindOf(bookmark)
  // Another client may have stored a title that is not a string.
  const title = kind !== 'separator' && typeof bookmark.title === 'string' ? bookmark.title : ''
  return { id, kind, parent, bookmark, ...contentOf({ title, url: kind === 'link' ? url : undefined }) }
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
