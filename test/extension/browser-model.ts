import type { BookmarkEventInfo, BookmarksApi, BrowserNode, NewNode } from '../../src/extension/browser-api.ts'

export type Flavour = 'chrome' | 'firefox'

interface Node {
  id: string
  parentId: string
  title: string
  url?: string
  type: 'bookmark' | 'folder' | 'separator'
  dateAdded: number
  unmodifiable?: 'managed'
  folderType?: string
  /** Undefined until Chrome's user signs in to an account. Then true if this folder is the account's. */
  syncing?: boolean
  children: string[]
}

/** An undone change: the title of its node, and whether the extension had made it. */
export interface Undone {
  title: string
  isExtensions: boolean
}

type Listener = (id: string, info: BookmarkEventInfo) => void

const rootsOf: Record<Flavour, { top: string; roots: [id: string, title: string, folderType: string][] }> = {
  chrome: {
    top: '0',
    roots: [
      ['1', 'Bookmarks bar', 'bookmarks-bar'],
      ['2', 'Other bookmarks', 'other'],
    ],
  },
  firefox: {
    top: 'root________',
    roots: [
      ['menu________', 'Bookmarks Menu', ''],
      ['toolbar_____', 'Bookmarks Toolbar', ''],
      ['unfiled_____', 'Other Bookmarks', ''],
      ['mobile______', 'Mobile Bookmarks', ''],
    ],
  },
}

/**
 * A browser's bookmarks in memory, with the rules of its API, as read in the sources of Chromium and Firefox: how it rewrites
 * addresses and titles, what it refuses, how it counts indexes, and the order of its events.
 */
export class BrowserModel {
  readonly flavour: Flavour
  nodes = new Map<string, Node>()
  /** How far the clock of the browser and the extension is ahead of this machine's (ms). */
  ahead = 0
  readonly #top: string
  readonly #listeners = new Map<string, Set<Listener>>()
  #lastId = 3
  /** The ids of the folders whose contents were read, in order. */
  reads: string[] = []
  #onceRead: { id: string; work: () => void } | undefined
  /** The changes that Undo reverts, the next one last. Chrome's includes those of extensions, Firefox's does not. */
  #undos: (Undone & { undo: () => void })[] = []
  #isRecording = true
  #isExtension = false

  constructor(flavour: Flavour, { hasMobile = false, folderTypes = true } = {}) {
    const { top, roots } = rootsOf[flavour]
    this.flavour = flavour
    this.#top = top
    this.#enter({ id: top, parentId: '', title: '', type: 'folder' })
    for (const [id, title, folderType] of roots) {
      const type = folderType && folderTypes ? { folderType } : {}
      this.#enter({ id, parentId: top, title, type: 'folder', ...type })
    }
    if (hasMobile) this.showMobile()
  }

  /** Chrome does not show this folder until its own sync has put something into it. */
  showMobile(): void {
    this.#enter({ id: '3', parentId: '0', title: 'Mobile bookmarks', type: 'folder', folderType: 'mobile' })
  }

  /** Chrome's user signs in to an account: Chrome gets folders for it, and hides the device's folders while they are empty. */
  signIn(): void {
    for (const id of ['1', '2']) {
      const { title, folderType } = this.#folder(id)
      Object.assign(this.#folder(id), { syncing: false })
      this.#enter({
        id: `account${id}`,
        parentId: '0',
        title,
        type: 'folder',
        syncing: true,
        ...(folderType && { folderType }),
      })
    }
  }

  /** Removes the account's folders with their contents. */
  signOut(): void {
    this.#unrecorded(() => {
      for (const id of ['account1', 'account2']) {
        for (const child of [...this.#folder(id).children]) this.removeTree(child)
        const siblings = this.#folder(this.#top).children
        siblings.splice(siblings.indexOf(id), 1)
        this.nodes.delete(id)
        this.tell('removed', id, { parentId: this.#top })
      }
    })
  }

  #isHidden({ syncing, children }: Node): boolean {
    return syncing === false && children.length === 0 && this.nodes.has('account1')
  }

  /** Adds a folder of the browser's administrator, with a bookmark of this address. */
  manage(url: string): void {
    const managed = { type: 'folder', unmodifiable: 'managed', folderType: 'managed' } as const
    this.#enter({ id: 'managed', parentId: this.#top, title: 'Managed', ...managed })
    this.#enter({ id: 'm1', parentId: 'managed', title: 'Intranet', url, type: 'bookmark', unmodifiable: 'managed' })
  }

  /** Saves the bookmarks to disk. Returns a function that crashes the browser: it restores the saved ones. */
  save(): () => void {
    const [nodes, lastId] = [structuredClone(this.nodes), this.#lastId]
    return () => {
      this.nodes = structuredClone(nodes)
      this.#lastId = lastId
    }
  }

  /** Another browser with the same bookmarks, in which the extension has not been started. */
  copy(): BrowserModel {
    const copy = new BrowserModel(this.flavour)
    copy.nodes = structuredClone(this.nodes)
    copy.#lastId = this.#lastId
    copy.ahead = this.ahead
    return copy
  }

  now(): number {
    return Date.now() + this.ahead
  }

  /** For `createBrowserSync` and `watchBookmarks`: every call takes effect at once, and returns through `gate`. */
  api(gate: <T>(call: () => T) => Promise<T> = async (call) => call()): BookmarksApi {
    const event = (name: string) => ({
      addListener: (listener: Listener) => {
        const all = this.#listeners.get(name) ?? new Set()
        this.#listeners.set(name, all.add(listener))
      },
    })
    return {
      getTree: () => gate(() => this.#noteRead(this.#top, [this.#read(this.#top, true)])),
      getSubTree: (id) => gate(() => this.#noteRead(id, [this.#read(id, true)])),
      getChildren: (id) =>
        gate(() =>
          this.#noteRead(
            id,
            this.#folder(id).children.map((child) => this.#read(child, false)),
          ),
        ),
      get: (id) => gate(() => [this.#read(id, false)]),
      create: (node) => gate(() => this.#asExtension(() => this.create(node))),
      update: (id, changes) => gate(() => this.#asExtension(() => this.update(id, changes))),
      move: (id, place) => gate(() => this.#asExtension(() => this.move(id, place))),
      remove: (id) => gate(() => this.#asExtension(() => this.remove(id))),
      onCreated: event('created'),
      onRemoved: event('removed'),
      onChanged: event('changed'),
      onMoved: event('moved'),
      ...(this.flavour === 'chrome' && {
        onChildrenReordered: event('reordered'),
        onImportBegan: event('importBegan') as BookmarksApi['onImportBegan'],
        onImportEnded: event('importEnded') as BookmarksApi['onImportEnded'],
      }),
    } as BookmarksApi
  }

  #asExtension<T>(work: () => T): T {
    this.#isExtension = true
    try {
      return this.flavour === 'chrome' ? work() : this.#unrecorded(work)
    } finally {
      this.#isExtension = false
    }
  }

  #unrecorded<T>(work: () => T): T {
    const before = this.#isRecording
    this.#isRecording = false
    try {
      return work()
    } finally {
      this.#isRecording = before
    }
  }

  #record(title: string, undo: () => void): void {
    if (this.#isRecording) this.#undos.push({ title, isExtensions: this.#isExtension, undo })
  }

  /** The user presses Ctrl+Z. Returns the undone change; undefined if there is none. */
  undo(): Undone | undefined {
    const last = this.#undos.pop()
    if (!last) return undefined
    try {
      this.#unrecorded(last.undo)
    } catch {
      // Its node was removed in another way meanwhile.
    }
    return last
  }

  /** Forgets what Undo could revert, as a browser that is closed does. */
  forgetUndo(): void {
    this.#undos = []
  }

  /** Restores what was removed, with its id and its date, as both browsers do. */
  #restore(nodes: readonly Node[], index: number): void {
    for (const [nth, node] of nodes.entries()) {
      const siblings = this.#folder(node.parentId).children
      if (nth === 0) siblings.splice(Math.min(index, siblings.length), 0, node.id)
      this.nodes.set(node.id, structuredClone(node))
    }
    for (const { id } of nodes) this.tell('created', id, this.#read(id, false))
  }

  /** Runs the work right after the next read of the folder. */
  onceRead(id: string, work: () => void): void {
    this.#onceRead = { id, work }
  }

  #noteRead(id: string, nodes: BrowserNode[]): BrowserNode[] {
    this.reads.push(id)
    if (this.#onceRead?.id !== id) return nodes
    const { work } = this.#onceRead
    this.#onceRead = undefined
    work()
    return nodes
  }

  /** Calls the listeners of an event, as the browser does. */
  tell(event: string, id = '', info: BookmarkEventInfo = {}): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(id, info)
  }

  create({ parentId, index, title, url, type }: NewNode): BrowserNode {
    const parent = this.#folder(parentId)
    if (parentId === this.#top || parent.unmodifiable) throw new Error("Can't modify the root bookmark folders.")
    if (index !== undefined && (index < 0 || index > parent.children.length)) throw new Error('Index out of bounds.')
    if (type !== undefined && this.flavour === 'chrome') throw new TypeError("Unexpected property: 'type'.")
    const id = this.flavour === 'chrome' ? String(++this.#lastId) : `guid${String(++this.#lastId).padStart(8, '0')}`
    const kind = type ?? (url === undefined ? 'folder' : 'bookmark')
    const form = kind === 'bookmark' ? { url: this.#toUrl(url as string) } : {}
    this.#enter({ id, parentId, title: this.#toTitle(title), ...form, type: kind }, index)
    this.#record(title, () => this.removeTree(id))
    this.tell('created', id, this.#read(id, false))
    return this.#read(id, false)
  }

  update(id: string, { title, url }: { title?: string; url?: string }): BrowserNode {
    const node = this.#ordinary(id)
    const before = { title: node.title, ...(node.url !== undefined && { url: node.url }) }
    this.#record(node.title, () => this.update(id, before))
    if (url !== undefined) {
      if (node.type !== 'bookmark') throw new Error("Can't set URL of a bookmark folder.")
      node.url = this.#toUrl(url)
    }
    if (title !== undefined) node.title = this.#toTitle(title)
    this.tell('changed', id)
    return this.#read(id, false)
  }

  move(id: string, { parentId, index }: { parentId: string; index?: number }): BrowserNode {
    const node = this.#ordinary(id)
    const to = this.#folder(parentId)
    if (parentId === this.#top || to.unmodifiable) throw new Error("Can't modify the root bookmark folders.")
    for (let at: string = parentId; at !== ''; at = this.#folder(at).parentId) {
      if (at === id) throw new Error("Can't move a folder to itself or its descendant.")
    }
    const from = this.#folder(node.parentId)
    const before = from.children.indexOf(id)
    let place = index ?? to.children.length
    if (place < 0 || place > to.children.length) throw new Error('Index out of bounds.')
    // Chrome counts the index with the node in its old place.
    if (this.flavour === 'chrome' && from === to && place > before) place--
    from.children.splice(before, 1)
    to.children.splice(place, 0, id)
    const oldParentId = node.parentId
    node.parentId = parentId
    const back = this.flavour === 'chrome' && from === to && before > place ? before + 1 : before
    this.#record(node.title, () => this.move(id, { parentId: oldParentId, index: back }))
    this.tell('moved', id, { parentId, oldParentId })
    return this.#read(id, false)
  }

  remove(id: string): void {
    const node = this.#ordinary(id)
    if (node.children.length > 0) throw new Error("Can't remove non-empty folder (use recursive to force).")
    const siblings = this.#folder(node.parentId).children
    const [removed, index] = [this.#read(id, false), siblings.indexOf(id)]
    this.#record(node.title, () => this.#restore([node], index))
    siblings.splice(index, 1)
    this.nodes.delete(id)
    this.tell('removed', id, { parentId: node.parentId, node: removed })
  }

  /** The user deletes a node with its contents. The extension's API here has no such call. */
  removeTree(id: string): void {
    const nodes = this.#inside(id).map((node) => structuredClone(node))
    const index = this.#folder(nodes[0]?.parentId ?? '').children.indexOf(id)
    this.#unrecorded(() => {
      for (const child of [...this.#folder(id).children]) this.removeTree(child)
      this.remove(id)
    })
    this.#record(nodes[0]?.title ?? '', () => this.#restore(nodes, index))
  }

  #inside(id: string): Node[] {
    const node = this.#folder(id)
    return [node, ...node.children.flatMap((child) => this.#inside(child))]
  }

  childrenOf(id: string): readonly string[] {
    return this.#folder(id).children
  }

  /** The nodes that the user can edit: not the browser's own folders, nor those of an administrator. */
  get ordinary(): Node[] {
    return [...this.nodes.values()].filter((node) => this.#isOrdinary(node))
  }

  #isOrdinary({ id, parentId, unmodifiable }: Node): boolean {
    return id !== this.#top && parentId !== this.#top && !unmodifiable
  }

  #ordinary(id: string): Node {
    const node = this.#folder(id)
    if (!this.#isOrdinary(node)) throw new Error("Can't modify the root bookmark folders.")
    return node
  }

  #folder(id: string): Node {
    const node = this.nodes.get(id)
    if (!node) throw new Error("Can't find bookmark for id.")
    return node
  }

  #enter(fields: Omit<Node, 'children' | 'dateAdded'>, index?: number): void {
    const siblings = this.nodes.get(fields.parentId)?.children
    siblings?.splice(index ?? siblings.length, 0, fields.id)
    this.nodes.set(fields.id, { ...fields, dateAdded: this.now(), children: [] })
  }

  #toUrl(url: string): string {
    if (!URL.canParse(url)) throw new Error('Invalid URL.')
    if (this.flavour === 'firefox' && url.length > 65_536) throw new Error("Invalid value for property 'url'")
    return new URL(url).href
  }

  #toTitle(title: string): string {
    return this.flavour === 'chrome' ? title.replace(/[\n\r\t]/g, ' ') : title.slice(0, 4096)
  }

  #read(id: string, isDeep: boolean): BrowserNode {
    const { type, children: all, parentId, folderType, ...node } = this.#folder(id)
    const children = all.filter((child) => !this.#isHidden(this.#folder(child)))
    const isFirefox = this.flavour === 'firefox'
    const index = this.nodes.get(parentId)?.children.indexOf(id)
    return {
      ...node,
      ...(parentId !== '' && { parentId, index }),
      ...(folderType && { folderType }),
      ...(isFirefox && { type, ...(type === 'separator' && { url: 'data:' }) }),
      ...(isDeep && type === 'folder' && { children: children.map((child) => this.#read(child, true)) }),
    }
  }
}
