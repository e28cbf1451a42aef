import { randomUUID } from 'node:crypto'
import { deriveId } from '../../src/client/crypto/derived-id.ts'
import { createClient, createSync, deriveKeys, memoryStore, type Store, type Sync } from '../../src/client/index.ts'
import { systemClock } from '../../src/client/timing/clock.ts'
import { type BookmarkWatch, watchBookmarks } from '../../src/extension/browser-mirror.ts'
import { type BrowserSync, createBrowserSync } from '../../src/extension/browser-sync.ts'
import { memoryAgreedStore } from '../../src/extension/testing.ts'
import { startService, type TestConnection } from '../../src/service/testing.ts'
import { BrowserModel, type Flavour } from './browser-model.ts'

/** How long a delete waits (ms), because it may turn out to be a cut. */
export const restMs = 10_000
const ownFolders = ['Bookmarks bar/', 'Other bookmarks/']
export const masterKey = new Uint8Array(32).fill(7)

/** All tests of this process share it. */
const service = await startService()

/** The extension's worker from its start to its death, which may come at any of its calls. */
class Life {
  readonly died: Promise<void>
  readonly #die: () => void
  /** The worker dies at the call after this number of calls. */
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

  /** Calls of a dead worker never return. */
  gate = async <T>(call: () => T | Promise<T>): Promise<T> => {
    if (this.isDead) return new Promise(() => {})
    if (--this.callsLeft < 0) {
      // Waits for the call to end, because nothing of a dead worker may take effect later.
      if (this.finishesLast) await call()
      this.kill()
      return new Promise(() => {})
    }
    const result = await call()
    return this.isDead ? new Promise(() => {}) : result
  }
}

/** A browser with the extension. The worker may die; the browser and the stored data stay. */
export class Device {
  readonly model: BrowserModel
  readonly connection: TestConnection
  readonly #user: string
  readonly #id: string
  #store: Store = memoryStore()
  #session = {}
  agreed = memoryAgreedStore()
  sync!: Sync
  browserSync!: BrowserSync
  life!: Life
  watch!: BookmarkWatch

  private constructor(user: string, id: string, model: BrowserModel, connection: TestConnection) {
    this.#user = user
    this.#id = id
    this.model = model
    this.connection = connection
    this.open()
  }

  /** @param user the user's name */
  static async connect(user: string, id: string, model: BrowserModel | Flavour = 'chrome'): Promise<Device> {
    const browser = typeof model === 'string' ? new BrowserModel(model) : model
    return new Device(user, id, browser, await service.connect(user))
  }

  /** A second browser from a backup of the profile, with the same stored data and device id. */
  async copy(): Promise<Device> {
    const copy = await Device.connect(this.#user, this.#id, this.model.copy())
    const { rows, meta } = await this.#store.load()
    if (meta) await copy.#store.write(rows, meta)
    await copy.agreed.write(await this.agreed.load())
    return copy
  }

  /** The browser crashes and is started again. */
  crash(crash: ReturnType<BrowserModel['save']>): void {
    crash()
    this.restart()
  }

  /** The browser is closed and opened again. */
  restart(): void {
    this.#session = {}
    this.model.forgetUndo()
    this.open()
  }

  /** The user signs out, which deletes everything except for the browser's bookmarks, and sets the extension up again. */
  forget(): void {
    this.#store = memoryStore()
    this.agreed = memoryAgreedStore()
    this.restart()
  }

  /** A new worker, on the data that the last one stored. */
  open(): void {
    this.life?.kill()
    const life = new Life()
    const { agreed, connection } = this
    this.life = life
    const keys = deriveKeys(masterKey)
    const sync = createSync({
      ...connection,
      client: createClient({ ...connection, deviceId: this.#id }),
      keys,
      deviceId: this.#id,
      store: this.#store,
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
        restoreExport: (opened) => gate(() => sync.restoreExport(opened)),
      },
      deriveId: (likeness) => deriveId(keys, likeness),
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
    await this.#compare()
    await this.sync.syncNow()
    await this.#compare()
    await this.sync.syncNow()
  }

  /** Compares. If a delete is held back, lets the time pass that it waits, and compares again. */
  async #compare(): Promise<void> {
    await this.browserSync.compareNow()
    if (this.browserSync.status().state !== 'comparing') return
    this.model.ahead += restMs
    await this.browserSync.compareNow()
  }
}

type Browser = [id: string, model?: BrowserModel | Flavour]

/** The browsers of a new user, in this order. */
export async function openDevices<Browsers extends Browser[]>(
  ...browsers: Browsers
): Promise<{ [Index in keyof Browsers]: Device }> {
  const user = randomUUID()
  const devices: Device[] = []
  for (const [id, model] of browsers) devices.push(await Device.connect(user, id, model))
  return devices as { [Index in keyof Browsers]: Device }
}

/** Two Chromes of one account. */
export function twoDevices(): Promise<[Device, Device]> {
  return openDevices(['one'], ['other'])
}

/** A Chrome and a Firefox of one account. */
export function chromeAndFirefox(): Promise<[Device, Device]> {
  return openDevices(['chrome'], ['firefox', 'firefox'])
}

/** `b0`, `b1` and so on. */
export function titlesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `b${index}`)
}

/** The browser's id of the node with this title that the user can edit. */
export function idOf({ model }: Device, title: string): string {
  return model.ordinary.find((node) => node.title === title)?.id as string
}

/** Copies a node with its contents. Returns a function that adds the copy to a folder. */
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

/** Compares and exchanges several times, so that all browsers have the same. */
export async function settle(...devices: Device[]): Promise<void> {
  for (let round = 0; round < 3; round++) for (const device of devices) await device.step()
}

/** A browser's bookmarks as text, a line each: `Bookmarks bar/`, `  F/`, `    title url`. */
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

/** Settles the devices, and returns the users' bookmarks in each browser as sorted lines of text. */
export async function shownIn(devices: [Device, Device]): Promise<string[][]> {
  await settle(...devices)
  return devices.map((device) =>
    textOf(device)
      .filter((line) => !ownFolders.includes(line))
      .sort(),
  )
}

/** Differences between the browsers: in the records that they have, and in what they show, in order. */
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

/** The roles of the browsers' own folders, by their ids in Chrome and Firefox. */
const roleOf: Record<string, string> = {
  ...{ 1: 'toolbar', 2: 'other', 3: 'mobile' },
  ...{ toolbar_____: 'toolbar', unfiled_____: 'other', mobile______: 'mobile', menu________: 'menu' },
}

/** The tree of the records that the device has, or of those that this browser can show. */
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
