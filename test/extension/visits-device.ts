import { randomUUID } from 'node:crypto'
import { removedPage, wholeHistory } from '../../src/client/bookmark/removed-page.ts'
import { historyId } from '../../src/client/crypto/derived-id.ts'
import { createClient, createSync, deriveKeys, memoryStore, type Sync } from '../../src/client/index.ts'
import { systemClock } from '../../src/client/timing/clock.ts'
import { turnedOffAt, type VisitStore } from '../../src/extension/visits/visit-store.ts'
import { createVisits, type Visits } from '../../src/extension/visits/visits.ts'
import { startService, type TestConnection } from '../../src/service/testing.ts'
import type { Flavour } from './browser-model.ts'
import { HistoryModel } from './history-model.ts'

export const minute = 60_000
export const day = 24 * 60 * minute
const keys = deriveKeys(new Uint8Array(32).fill(7))

/** All tests of this process share it. */
const service = await startService()

export function idOf(url: string): string {
  return historyId(keys, url)
}

/** Keeps in memory what a device knows of its browser's history. Copies what is written. */
function memoryVisitStore(): VisitStore {
  const stored: Awaited<ReturnType<VisitStore['load']>> & { byId: Map<string, unknown> } = {
    ...{ state: undefined, pages: [], byId: new Map() },
  }
  return {
    load: async () => structuredClone({ state: stored.state, pages: [...stored.byId.values()] as never }),
    async write(state, pages) {
      stored.state = structuredClone(state)
      for (const [id, page] of pages) {
        if (page) stored.byId.set(id, structuredClone(page))
        else stored.byId.delete(id)
      }
    },
    async turnOff(now) {
      if (stored.state) stored.state = turnedOffAt(stored.state, now)
      stored.byId.clear()
    },
    async wipe() {
      stored.state = undefined
      stored.byId.clear()
    },
  }
}

/** A browser whose person has turned the history on. Its worker may die at any call. */
export class HistoryDevice {
  readonly model: HistoryModel
  readonly connection: TestConnection
  /** The numbers of entries in the pushes that the device has sent. */
  readonly pushes: number[] = []
  readonly user: string
  readonly #id: string
  readonly #store = memoryStore()
  readonly #visitStore = memoryVisitStore()
  sync!: Sync
  visits!: Visits
  isAwake = false
  #session = {}
  /** The worker dies at the call after this number of calls. */
  callsLeft = Number.POSITIVE_INFINITY
  #life = 0

  private constructor(user: string, id: string, flavour: Flavour, connection: TestConnection) {
    this.user = user
    this.#id = id
    this.model = new HistoryModel(flavour)
    this.connection = connection
  }

  static async connect(user: string, id: string, flavour: Flavour): Promise<HistoryDevice> {
    const device = new HistoryDevice(user, id, flavour, await service.connect(user))
    await device.open()
    return device
  }

  /** Starts a new worker on the data that the last one stored. */
  async open(): Promise<void> {
    const life = ++this.#life
    this.callsLeft = Number.POSITIVE_INFINITY
    const { connection } = this
    const fetch = async (request: Request) => {
      if (request.url.endsWith('/sync/push')) {
        const { changes } = (await request.clone().json()) as { changes: unknown[] }
        if (changes.length > 0) this.pushes.push(changes.length)
      }
      return connection.fetch(request)
    }
    const sync = createSync({
      ...connection,
      client: createClient({ ...connection, fetch, deviceId: this.#id }),
      ...{ keys, deviceId: this.#id, store: this.#store, types: ['bookmark', 'history'] as const },
    })
    this.sync = sync
    const isDead = () => life !== this.#life || this.callsLeft < 0
    const gate = async <T>(call: () => T | Promise<T>): Promise<T> => {
      if (isDead()) return new Promise(() => {})
      this.callsLeft--
      const result = await call()
      return isDead() ? new Promise(() => {}) : result
    }
    const history = this.model.api(gate)
    const visits = createVisits({
      sync: {
        ...sync,
        history: {
          ...sync.history,
          put: (entries) => gate(() => sync.history.put(entries)),
          update: (ids, update) => gate(() => sync.history.update(ids, update)),
          remove: (ids) => gate(() => sync.history.remove(ids)),
        },
      },
      history,
      idOf,
      store: {
        load: () => gate(() => this.#visitStore.load()),
        write: (state, pages) => gate(() => this.#visitStore.write(state, pages)),
        turnOff: (now) => this.#visitStore.turnOff(now),
        wipe: () => this.#visitStore.wipe(),
      },
      notBefore: 0,
      clock: { ...systemClock, now: () => this.model.now() },
      // The extension ignores an error of less than a minute.
      serviceNow: () => this.model.now() - (Math.abs(this.model.wrong) < minute ? 0 : this.model.wrong),
      session: { get: async () => this.#session, set: async (values) => void Object.assign(this.#session, values) },
      wake: () => {
        this.isAwake = true
      },
    })
    history.onVisited.addListener((page) => life === this.#life && visits.visited(page))
    history.onVisitRemoved.addListener((news) => life === this.#life && void visits.removed(news))
    this.visits = visits
    await sync.put([])
    await visits.start()
  }

  /** The browser is started again. */
  async restart(): Promise<void> {
    this.#session = {}
    await this.open()
  }

  /** The person turns the history off. */
  async turnOff(): Promise<void> {
    await this.visits.stop()
    await this.#visitStore.turnOff(this.model.now())
  }

  /** Lets the minute pass after which visits may be stored, and stores them. Ends early if the worker dies. */
  async round(): Promise<void> {
    this.model.ahead += minute + 5000
    await this.exchange()
    this.isAwake = false
    await this.#untilDead(this.visits.round())
    await this.exchange()
  }

  async exchange(): Promise<void> {
    await this.sync.syncNow().catch(() => {})
    // Waits for the queue, in which entries that have arrived are handled.
    if (this.callsLeft >= 0) await this.#untilDead(this.visits.removed({ allHistory: false }))
  }

  async #untilDead(work: Promise<void>): Promise<void> {
    const over = { isOver: false }
    void work.finally(() => (over.isOver = true))
    while (!over.isOver && this.callsLeft >= 0) await new Promise((resolve) => setImmediate(resolve))
  }

  /** The visits of each page, by its address. */
  get entries(): Record<string, string[]> {
    const shown = [...this.sync.history.records().values()].filter(({ url }) => url !== undefined)
    return Object.fromEntries(shown.map(({ url = '', visits = [] }) => [url, visits]).sort())
  }

  entry(url: string) {
    const entry = this.sync.history.get(idOf(url))
    return entry?.url === undefined ? undefined : entry
  }
}

/** The devices of a new person. */
export async function openHistory<Flavours extends Flavour[]>(
  ...flavours: Flavours
): Promise<{ [Index in keyof Flavours]: HistoryDevice }> {
  const user = randomUUID()
  const devices: HistoryDevice[] = []
  for (const [index, flavour] of flavours.entries())
    devices.push(await HistoryDevice.connect(user, `${flavour}-${index}`, flavour))
  return devices as { [Index in keyof Flavours]: HistoryDevice }
}

/** Runs several rounds, so that all devices have the same. */
export async function settle(...devices: HistoryDevice[]): Promise<void> {
  for (let turn = 0; turn < 3; turn++) for (const device of devices) await device.round()
}

/** The web page of the same person, on another device. */
export async function openPage({ user }: HistoryDevice) {
  const connection = await service.connect(user)
  const client = createClient({ ...connection, deviceId: 'page' })
  const store = memoryStore()
  return { connection, sync: createSync({ ...connection, client, keys, deviceId: 'page', store, types: ['history'] }) }
}

/** Erases everything as the web page does (`src/web/visits/visits.ts`), which the tests in Chromium check. */
export async function eraseOnPage({ history }: Sync, now: number): Promise<void> {
  await history.put(removedPage(idOf(wholeHistory), now))
  await history.remove([...history.records().keys()].filter((id) => id !== idOf(wholeHistory)))
}
