import { Emitter } from '../client/sync/store/emitter.ts'
import type { Clock } from '../client/timing/clock.ts'
import { paced } from '../client/timing/paced.ts'
import type { BookmarkEventInfo, BookmarksApi, BrowserNode } from './browser-api.ts'

/** Everything is read again after this time (ms), because an event may get lost. */
const wholeEveryMs = 3_600_000

/**
 * The browser's bookmarks as they were last read. After the first time, only folders that events or the extension's own
 * changes have touched are read. If the parts do not fit together, usually because a node was moved meanwhile, all are read.
 */
export class BrowserMirror {
  readonly #api: BookmarksApi
  readonly #clock: Pick<Clock, 'now'>
  #top: BrowserNode | undefined
  #nodes = new Map<string, BrowserNode>()
  /** Ids of folders to read, or of nodes whose folder is unknown. */
  #touched = new Set<string>()
  #removed = new Set<string>()
  #readAt = 0

  constructor(api: BookmarksApi, clock: Pick<Clock, 'now'>) {
    this.#api = api
    this.#clock = clock
  }

  /** Changes made through this object are noted at once; the browser reports them only later. */
  readonly changes: Pick<BookmarksApi, 'get' | 'create' | 'update' | 'move' | 'remove'> = {
    get: (id) => this.#api.get(id),
    create: (node) => {
      this.#touched.add(node.parentId)
      return this.#api.create(node)
    },
    update: (id, changes) => {
      this.touch({ id })
      return this.#api.update(id, changes)
    },
    move: (id, place) => {
      this.touch({ id })
      this.#touched.add(place.parentId)
      return this.#api.move(id, place)
    },
    remove: (id) => {
      this.touch({ id, isRemoved: true })
      return this.#api.remove(id)
    },
  }

  touch({ id, folders = [], isRemoved }: Touched): void {
    for (const folder of folders) this.#touched.add(folder)
    if (id === undefined) this.forget()
    else if (folders.length === 0) this.#touched.add(this.#nodes.get(id)?.parentId ?? id)
    if (isRemoved && id !== undefined) this.#removed.add(id)
  }

  /** True if the browser had it at the last reading. */
  has(id: string | null | undefined): boolean {
    return this.#nodes.has(id as string)
  }

  /** Makes the next reading read everything. */
  forget(): void {
    this.#top = undefined
  }

  async read(): Promise<BrowserNode[]> {
    const [touched, removed] = [this.#touched, this.#removed]
    this.#touched = new Set()
    this.#removed = new Set()
    // The difference is negative if the clock was set back.
    const isDue = Math.abs(this.#clock.now() - this.#readAt) >= wholeEveryMs
    const known = isDue ? undefined : this.#top
    // If reading fails, the mirror is incomplete, so the next reading reads everything.
    this.forget()
    const top = known && (await this.#readTouched(known, touched, removed)) ? known : await this.#readAll()
    this.#top = top
    return top ? [top] : []
  }

  async #readAll(): Promise<BrowserNode | undefined> {
    this.#readAt = this.#clock.now()
    const [top] = await this.#api.getTree()
    if (top) await this.#enter(top)
    return top
  }

  /** @returns false if something may be missing or duplicated */
  async #readTouched(top: BrowserNode, touched: ReadonlySet<string>, removed: ReadonlySet<string>): Promise<boolean> {
    for (const id of touched) {
      const folder = this.#nodes.get(id)
      const children = folder?.children && (await this.#api.getChildren(id).catch(() => undefined))
      if (!folder || !children) continue
      folder.children = []
      for (const child of children) folder.children.push(await this.#withChildren(child))
    }
    const before = this.#nodes
    const isTree = await this.#enter(top)
    const isThere = (id: string) => this.#nodes.has(id) || removed.has(id)
    return isTree && [...touched].every(isThere) && [...before.keys()].every(isThere)
  }

  async #withChildren(child: BrowserNode): Promise<BrowserNode> {
    const known = this.#nodes.get(child.id)
    if (known) return Object.assign(known, child)
    return child.url === undefined ? ((await this.#api.getSubTree(child.id))[0] ?? child) : child
  }

  async #enter(top: BrowserNode): Promise<boolean> {
    const nodes = new Map<string, BrowserNode>()
    const pending = [top]
    let isTree = true
    await paced(pending, (node) => {
      if (nodes.has(node.id)) isTree = false
      else for (const child of node.children ?? []) pending.push(child)
      nodes.set(node.id, node)
    })
    this.#nodes = nodes
    return isTree
  }
}

/** The node and folders that an event is about. */
export interface Touched {
  /** The node's id; undefined if it could be any. */
  id?: string
  /** The ids of its folders, now and before; missing or empty if the browser does not say. */
  folders?: string[]
  isRemoved?: true
}

/** The browser's bookmark events. The lists are kept while a step of an earlier worker is unfinished. */
export interface BookmarkWatch {
  /** True while the browser imports bookmarks: no comparisons run. */
  readonly isImporting: boolean
  /** The browser's ids of created nodes. */
  readonly created: Set<string>
  /** The browser's ids of changed or moved nodes. */
  readonly touched: Set<string>
  /** The nodes that were removed. */
  readonly removed: BrowserNode[]
  /** Returns a function that removes the listener. */
  on(event: 'change', listener: (touched: Touched) => void): () => void
}

/**
 * Listens to the browser's bookmark events. An extension's worker must call it synchronously at its start: otherwise
 * the browser does not start the worker for changes.
 */
export function watchBookmarks(api: Pick<BookmarksApi, Extract<keyof BookmarksApi, `on${string}`>>): BookmarkWatch {
  const emitter = new Emitter<{ change: Touched }>()
  let isImporting = false
  const created = new Set<string>()
  const touched = new Set<string>()
  const removed: BrowserNode[] = []
  const report = (touched: Touched) => emitter.emit('change', touched)
  const foldersOf = ({ parentId, oldParentId }: BookmarkEventInfo) =>
    [parentId, oldParentId].filter((folder) => folder !== undefined)
  api.onCreated.addListener((id, info) => {
    created.add(id)
    report({ id, folders: foldersOf(info) })
  })
  api.onRemoved.addListener((id, info) => {
    if (info.node) removed.push(info.node)
    report({ id, folders: foldersOf(info), isRemoved: true })
  })
  for (const event of [api.onChanged, api.onMoved]) {
    event.addListener((id, info) => {
      touched.add(id)
      report({ id, folders: foldersOf(info) })
    })
  }
  api.onChildrenReordered?.addListener((id) => report({ id, folders: [id] }))
  api.onImportBegan?.addListener(() => {
    isImporting = true
  })
  api.onImportEnded?.addListener(() => {
    isImporting = false
    report({})
  })
  return {
    get isImporting() {
      return isImporting
    },
    created,
    touched,
    removed,
    on: (event, listener) => emitter.on(event, listener),
  }
}
