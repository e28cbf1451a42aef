import type { Clock } from '../client/timing/clock.ts'
import { paced } from '../client/timing/paced.ts'
import type { BookmarksApi, BrowserNode } from './platform.ts'
import type { Touched } from './watch.ts'

/** An event may be lost without anybody noticing. */
const wholeEveryMs = 3_600_000

/**
 * The browser's bookmarks as they were read. Once it has them all, it reads only the folders that events and own changes have
 * touched; and all of them again where the parts do not fit together, because something was moved meanwhile.
 */
export class BrowserMirror {
  readonly #api: BookmarksApi
  readonly #clock: Pick<Clock, 'now'>
  #top: BrowserNode | undefined
  #nodes = new Map<string, BrowserNode>()
  /** Folders, or what nobody knows the folder of. */
  #touched = new Set<string>()
  #removed = new Set<string>()
  #readAt = 0

  constructor(api: BookmarksApi, clock: Pick<Clock, 'now'>) {
    this.#api = api
    this.#clock = clock
  }

  /** The browser tells only later of what is done here. */
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

  /** Whether the browser had it when it was last read. */
  has(id: string | null | undefined): boolean {
    return this.#nodes.has(id as string)
  }

  /** Reads all of them the next time. */
  forget(): void {
    this.#top = undefined
  }

  async read(): Promise<BrowserNode[]> {
    const [touched, removed] = [this.#touched, this.#removed]
    this.#touched = new Set()
    this.#removed = new Set()
    // Also if the clock was put back.
    const isDue = Math.abs(this.#clock.now() - this.#readAt) >= wholeEveryMs
    const known = isDue ? undefined : this.#top
    // If it fails in the middle, nobody knows what is missing.
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

  /** @returns whether it is sure that nothing is missing, and nothing is there twice */
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
