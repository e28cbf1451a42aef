/** The parts of the browser's extension API that the package (index.ts) uses: `chrome.*`, or `browser.*` in Firefox. */

/** A bookmark, folder or separator of the browser. */
export interface BrowserNode {
  id: string
  parentId?: string | undefined
  index?: number | undefined
  title: string
  url?: string | undefined
  /** Firefox only: `bookmark`, `folder` or `separator`. */
  type?: string | undefined
  /** Unix ms. */
  dateAdded?: number | undefined
  /** Set if the browser's administrator has added it: neither users nor extensions can change it. */
  unmodifiable?: string | undefined
  /** Chrome 134 and later, on Chrome's own folders: `bookmarks-bar`, `other`, `mobile` or `managed`. */
  folderType?: string | undefined
  /** Chrome 134 and later: whether Chrome's own sync includes it. */
  syncing?: boolean | undefined
  children?: BrowserNode[] | undefined
}

/** A bookmark, folder or separator for the browser to create. */
export interface NewNode {
  parentId: string
  /** Default: the end of the folder. */
  index?: number
  title: string
  url?: string
  type?: 'separator'
}

/** The fields of a bookmark event that the extension reads. */
export interface BookmarkEventInfo {
  parentId?: string | undefined
  oldParentId?: string | undefined
  node?: BrowserNode | undefined
}

/** An event of the browser, with the listener arguments that the extension reads. */
export type BookmarkEvent<Listener = (id: string, info: BookmarkEventInfo) => void> = {
  addListener(listener: Listener): void
}

/** `chrome.bookmarks`, or `browser.bookmarks` in Firefox. */
export interface BookmarksApi {
  getTree(): Promise<BrowserNode[]>
  getSubTree(id: string): Promise<BrowserNode[]>
  getChildren(id: string): Promise<BrowserNode[]>
  get(id: string): Promise<BrowserNode[]>
  create(node: NewNode): Promise<BrowserNode>
  update(id: string, changes: { title: string; url?: string }): Promise<BrowserNode>
  move(id: string, place: { parentId: string; index: number }): Promise<BrowserNode>
  /** Refuses a folder that is not empty. */
  remove(id: string): Promise<void>
  onCreated: BookmarkEvent
  onRemoved: BookmarkEvent
  onChanged: BookmarkEvent
  onMoved: BookmarkEvent
  onChildrenReordered?: BookmarkEvent
  onImportBegan?: BookmarkEvent<() => void>
  onImportEnded?: BookmarkEvent<() => void>
}

/** `chrome.storage.session`: cleared when the browser is closed. */
export interface SessionStorageApi {
  get(name: string): Promise<Record<string, unknown>>
  set(values: Record<string, unknown>): Promise<void>
}

/** The fields of a cookie that the extension needs. */
export interface BrowserCookie {
  name: string
  value: string
  path: string
  domain?: string | undefined
  expirationDate?: number | undefined
}

/** `chrome.cookies`. */
export interface CookiesApi {
  get(cookie: { url: string; name: string }): Promise<BrowserCookie | null>
  set(cookie: {
    url: string
    name: string
    value: string
    path: string
    secure: true
    httpOnly: true
    sameSite: 'no_restriction'
    expirationDate?: number
  }): Promise<unknown>
  onChanged: { addListener(listener: (change: { cookie: BrowserCookie; removed: boolean }) => void): void }
}
