import { createClient, createSync, deriveKeys, memoryStore, type Store, type Sync } from '../../src/client/index.ts'
import { type FakeConnection, type FakeService, fakeService } from '../../src/client/testing.ts'
import { systemClock } from '../../src/client/timing/clock.ts'
import { type BookmarkWatch, watchBookmarks } from '../../src/extension/browser-mirror.ts'
import { type BrowserSync, createBrowserSync } from '../../src/extension/browser-sync.ts'
import { memoryAgreedStore } from '../../src/extension/testing.ts'
import { BrowserModel, type Flavour } from './browser-model.ts'

const ownFolders = ['Bookmarks bar/', 'Other bookmarks/']
export const masterKey = new Uint8Array(32).fill(7)

/** The extension's worker from its start to its death, which may come at any of its calls. */
class Life {
  readonly died: Promise<void>
  readonly #die: () => void
  /** It dies at the call after so many. */
  callsLeft = Number.POSITIVE_INFINITY
  /** True if that call still takes effect. */
  finishesLast = false
  isDead = false

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.died = promise
    this.#die = resolve
  }

  kill(): void {
    this.isDead = true
    this.#die()
  }

  /** A dead worker gets no answer. */
  gate = async <T>(call: () => T | Promise<T>): Promise<T> => {
    if (this.isDead) return new Promise(() => {})
    if (--this.callsLeft < 0) {
      // A dead worker writes nothing more, so the call ends before the next one begins.
      if (this.finishesLast) await call()
      this.kill()
      return new Promise(() => {})
    }
    const result = await call()
    return this.isDead ? new Promise(() => {}) : result
  }
}

/** A browser with the extension, of which only the worker ever dies. */
export class Device {
  readonly model: BrowserModel
  readonly connection: FakeConnection
  readonly #service: FakeService
  readonly #id: string
  readonly #store: Store = memoryStore()
  #session = {}
  agreed = memoryAgreedStore()
  sync!: Sync
  browserSync!: BrowserSync
  life!: Life
  watch!: BookmarkWatch

  constructor(service: FakeService, id: string, model: BrowserModel | Flavour = 'chrome') {
    this.#service = service
    this.#id = id
    this.connection = service.connect('ada')
    this.model = typeof model === 'string' ? new BrowserModel(model) : model
    this.open()
  }

  /** As from a backup of its profile: a second browser with all that this one has stored, and so with its device id. */
  async copy(): Promise<Device> {
    const copy = new Device(this.#service, this.#id, this.model.copy())
    const { rows, meta } = await this.#store.load()
    if (meta) await copy.#store.write(rows, meta)
    await copy.agreed.write(await this.agreed.load())
    return copy
  }

  /** The browser crashes, and is started again. */
  crash(crash: ReturnType<BrowserModel['save']>): void {
    crash()
    this.restart()
  }

  /** The browser is closed, and opened again. */
  restart(): void {
    this.#session = {}
    this.open()
  }

  /** A new worker, on what the one before has stored. */
  open(): void {
    this.life?.kill()
    const life = new Life()
    const { agreed } = this
    this.life = life
    const sync = createSync({
      client: createClient({ baseUrl: this.#service.baseUrl, deviceId: this.#id, fetch: this.connection.fetch }),
      keys: deriveKeys(masterKey),
      userId: 'ada',
      deviceId: this.#id,
      store: this.#store,
      webSocket: this.connection.webSocket,
    })
    this.sync = sync
    const { gate } = life
    const bookmarks = this.model.api(gate)
    this.watch = watchBookmarks(bookmarks)
    this.browserSync = createBrowserSync({
      sync: {
        ...sync,
        put: (bookmarks) => gate(() => sync.put(bookmarks)),
        update: (id, patch, options) => gate(() => sync.update(id, patch, options)),
        remove: (ids) => gate(() => sync.remove(ids)),
      },
      bookmarks,
      watch: this.watch,
      session: { get: async () => this.#session, set: async (values) => void Object.assign(this.#session, values) },
      clock: { ...systemClock, now: () => this.model.now() },
      store: {
        load: () => gate(() => agreed.load()),
        write: (change) => gate(() => agreed.write(change)),
        wipe: () => agreed.wipe(),
      },
    })
  }

  async step(): Promise<void> {
    await this.sync.put([])
    await this.browserSync.compareNow()
    await this.sync.syncNow()
    await this.browserSync.compareNow()
    await this.sync.syncNow()
  }
}

/** Two Chromes of one account. */
export function twoDevices(): [Device, Device] {
  const service = fakeService()
  return [new Device(service, 'one'), new Device(service, 'other')]
}

/** A Chrome and a Firefox of one account. */
export function chromeAndFirefox(): [Device, Device] {
  const service = fakeService()
  return [new Device(service, 'chrome'), new Device(service, 'firefox', 'firefox')]
}

/** `b0`, `b1` and so on. */
export function titlesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `b${index}`)
}

/** The browser's node with this title, which its user can edit. */
export function idOf({ model }: Device, title: string): string {
  return model.ordinary.find((node) => node.title === title)?.id as string
}

/** A function that makes what is there now once more, in another folder. */
export function copyOf(model: BrowserModel, id: string): (into: string) => void {
  const { title, url, type, children } = model.nodes.get(id) as NonNullable<ReturnType<typeof model.nodes.get>>
  const inside = children.map((child) => copyOf(model, child))
  return (parentId) => {
    const form = type === 'bookmark' && url !== undefined ? { url } : type === 'separator' ? { type } : {}
    const made = model.create({ parentId, title, ...form })
    for (const copy of inside) copy(made.id)
  }
}

/** The id of the service's record with this title. */
export function recordOf({ sync }: Device, title: string): string {
  return [...sync.bookmarks().values()].find((one) => one.title === title)?.id ?? ''
}

/** Until all of them have what the others have. */
export async function settle(...devices: Device[]): Promise<void> {
  for (let round = 0; round < 3; round++) for (const device of devices) await device.step()
}

/** A browser's bookmarks as text, a line each: `toolbar`, `  F/`, `    title url`. */
export function textOf({ model }: Device): string[] {
  return linesIn(model, model.flavour === 'chrome' ? '0' : 'root________', '')
}

function linesIn(model: BrowserModel, folder: string, indent: string): string[] {
  return model.childrenOf(folder).flatMap((id) => {
    const { title, url, type } = model.nodes.get(id) as NonNullable<ReturnType<typeof model.nodes.get>>
    const line = type === 'folder' ? `${title}/` : type === 'separator' ? '---' : `${title} ${url}`
    return [indent + line, ...linesIn(model, id, `${indent}  `)]
  })
}

/** Their users' bookmarks, as sorted lines of text, once all have what the others have. */
export async function shownIn(devices: [Device, Device]): Promise<string[][]> {
  await settle(...devices)
  return devices.map((device) =>
    textOf(device)
      .filter((line) => !ownFolders.includes(line))
      .sort(),
  )
}

/** Where these are not in step: by what they hold of the service's records, and by what their browsers show, in order. */
export function differences(devices: readonly Device[]): string[] {
  const failures: string[] = []
  const [first = '', ...others] = devices.map((device) => serviceText(device))
  for (const text of others) {
    if (text !== first) failures.push(`the devices hold different records:\n${first}\n---\n${text}`)
  }
  for (const device of devices) {
    const [shown, held] = [rootsText(device), serviceText(device, device.model)]
    if (shown !== held) failures.push(`${device.model.flavour} shows\n${shown}\ninstead of\n${held}`)
    const { state, error, refused } = device.browserSync.status()
    if (state !== 'in-step' || refused.length > 0) failures.push(`${state} ${error?.stack} ${JSON.stringify(refused)}`)
  }
  return failures
}

/** By the ids of the browsers' own folders, Chrome's and Firefox's. */
const roleOf: Record<string, string> = {
  ...{ 1: 'toolbar', 2: 'other', 3: 'mobile' },
  ...{ toolbar_____: 'toolbar', unfiled_____: 'other', mobile______: 'mobile', menu________: 'menu' },
}

/** The tree of the service's records, or of what this browser is to show of them. */
function serviceText({ sync }: Device, model?: BrowserModel): string {
  const own = new Set([...(model?.nodes.keys() ?? [])].map((id) => roleOf[id]))
  const marks = { personal_toolbar_folder: 'toolbar', mobile_bookmarks_folder: 'mobile', bookmarks_menu_folder: 'menu' }
  const roots = new Map<string, string[]>()
  const write = (nodes: ReturnType<typeof sync.tree>, root: string, indent: string) => {
    for (const { bookmark, children } of nodes) {
      const { title, url, type, attributes = {} } = bookmark
      const [, role] = Object.entries(marks).find(([mark, role]) => own.has(role) && attributes[mark]) ?? []
      if (role) write(children, role, '  ')
      else if (type !== 'separator' || model?.flavour !== 'chrome') {
        const line = type === 'separator' ? '---' : url === undefined ? `${title}/` : `${title} ${url}`
        roots.set(root, [...(roots.get(root) ?? []), `${indent}${line}`])
        write(children, root, `${indent}  `)
      }
    }
  }
  write(sync.tree(), 'other', '  ')
  return toText(roots)
}

function rootsText({ model }: Device): string {
  const ids = [...model.nodes.keys()].filter((id) => roleOf[id])
  return toText(new Map(ids.map((id) => [roleOf[id] as string, linesIn(model, id, '  ')])))
}

function toText(roots: Map<string, string[]>): string {
  const filled = [...roots].filter(([, lines]) => lines.length > 0).sort()
  return filled.flatMap(([role, lines]) => [role, ...lines]).join('\n')
}
