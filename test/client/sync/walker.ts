import { deepEqual, equal } from 'node:assert/strict'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import type { Keys } from '../../../src/client/crypto/keys.ts'
import { ApiError, RecordError } from '../../../src/client/errors.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { viewOf } from '../../../src/client/sync/store/row.ts'
import { listChangePage } from '../../../src/service/db/tables/changes.ts'
import { toSyncEvent } from '../../../src/service/sync/event.ts'
import type { TestApp, TestUser } from '../../support/app.ts'
import type { World } from './clock.ts'
import { type Device, openDevice } from './device.ts'
import type { Ledger } from './ledger.ts'
import { answerLost, asOlder, type Call, down, type Fate, Network, refused, up } from './network.ts'
import type { TestSocket } from './socket.ts'
import type { VaultKeys } from './vault-keys.ts'

const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

interface Parts {
  app: TestApp
  user: TestUser
  keys: Keys
  world: World
  ledger: Ledger
  skew: number
  /** Whether it has an earlier version of the client. */
  isOlder: boolean
  id: string
  /** From 0 to below 1: decides what becomes of calls and sockets. */
  chance: () => number
}

/** A device on a bad network, whose channel says something when the walk wants it to. */
export class Walker {
  readonly #parts: Parts
  readonly #disk = memoryStore()
  /** As this device keeps them. */
  #keys: Keys
  #device!: Device
  #die = () => {}
  /** Calls that wait until the walk lets them go on. */
  #held: (() => Promise<void>)[] = []
  #edits = 0
  /** Messages of the channel that were delivered, to be said again. */
  #said: object[] = []

  constructor(parts: Parts) {
    this.#parts = parts
    this.#keys = parts.keys
  }

  get sync(): Device['sync'] {
    return this.#device.sync
  }

  /** Beside those that the walk made: the service refused something, or the keys were rotated elsewhere. */
  get errors(): Device['errors'] {
    const isMade = ({ error }: Device['errors'][number]) =>
      error instanceof ApiError || (error instanceof RecordError && error.fault === 'unknown-key')
    return this.#device.errors.filter((one) => !isMade(one))
  }

  async rotate(vault: VaultKeys): Promise<void> {
    await vault.rotate()
    this.unlock(vault)
  }

  /** The person types the passphrase. */
  unlock({ keys }: VaultKeys): void {
    this.#keys = keys
    this.sync.adoptKeys(keys).catch(() => {})
    this.sync.start().catch(() => {})
  }

  async start(): Promise<void> {
    this.#open((call) => this.#meet(call))
    this.#device.network.onSocket = (socket) => queueMicrotask(() => this.#meetSocket(socket))
    await this.sync.start()
  }

  /** As when the tab or the process is killed: nothing is finished, nothing is said. */
  async restart(): Promise<void> {
    this.#kill()
    await this.start()
  }

  /** Goes on with what is stored, on a good network, when asked to. */
  settle(): void {
    this.#kill()
    this.#open((call) => (call.name === 'getUserId' ? this.#sayUser() : up(this.#parts.isOlder ? asOlder(call) : call)))
  }

  async put(entity: number, fields: Partial<PlaintextBookmark>): Promise<void> {
    const id = idAt(entity)
    const title = `${this.#parts.id}${this.#edits++}`
    await this.sync.put({ ...(this.sync.get(id) ?? { id, source: 'bookmarks' }), ...fields, title })
  }

  /** Adds or removes a tag, or writes a note. */
  async update(entity: number, what: number): Promise<void> {
    const tag = `tag${what % 5}`
    const note = `${this.#parts.id}${this.#edits++}`
    const toggle = ({ tags = [] }: PlaintextBookmark) => {
      return { tags: tags.includes(tag) ? tags.filter((one) => one !== tag) : [...tags, tag] }
    }
    const update = what % 3 ? toggle : { description: note }
    await this.sync.update(idAt(entity), update).catch((error) => {
      if (!(error instanceof RangeError)) throw error
    })
  }

  async move(entity: number, parent: number, before: number): Promise<void> {
    const place = { parentId: parent % 3 ? idAt(parent) : undefined, before: idAt(before) }
    await this.sync.move(idAt(entity), place).catch((error) => {
      if (!(error instanceof RangeError)) throw error
    })
  }

  async remove(entity: number, count: number): Promise<void> {
    await this.sync.remove(ids.slice(entity % ids.length).slice(0, count))
  }

  syncNow(): void {
    this.sync.syncNow().catch(() => {})
  }

  /** What was held up arrives. */
  async release(): Promise<void> {
    for (const arrive of this.#held.splice(0)) await arrive()
  }

  /** The realtime channel, as the service's hub serves it: what is new, except the device's own changes. */
  async hear(count: number): Promise<void> {
    const { app, user, id } = this.#parts
    const socket = this.#device.network.socket
    if (!socket?.isOpen) return
    const limits = { rows: count, bytes: 1e6 }
    const rows = await listChangePage(app.context.database.db, user.userId, socket.cursor, limits)
    for (const row of rows) {
      socket.cursor = row.stamp
      if (row.device_id === id) continue
      const message = { type: 'sync', event: toSyncEvent(row), stamp: row.stamp }
      this.#said.push(message)
      socket.say(message)
    }
  }

  /** Hears what it heard before, again. */
  hearAgain(): void {
    for (const message of this.#said.slice(-8)) this.#device.network.socket?.say(message)
  }

  hangUp(): void {
    this.#device.network.socket?.close()
  }

  /** The engine's memory and its store say the same. */
  async checkMemory(): Promise<void> {
    const { rows } = await this.#disk.load()
    const stored = rows.flatMap((row) => viewOf(row).bookmark ?? [])
    const shown = [...this.sync.bookmarks().values()]
    deepEqual(new Map(shown.map((one) => [one.id, one])), new Map(stored.map((one) => [one.id, one])))
    equal(this.sync.status().waiting, rows.filter(({ waiting }) => waiting.length > 0).length)
  }

  #open(fate: Fate): void {
    const { user, ledger, id } = this.#parts
    const { store, die } = ledger.watch(this.#disk, id)
    const network = new Network(user, id)
    network.fate = fate
    this.#die = die
    this.#held = []
    this.#device = openDevice({ ...this.#parts, keys: this.#keys, store, network })
  }

  #kill(): void {
    const { network } = this.#device
    this.#die()
    network.onSocket = () => {}
    network.fate = () => new Promise(() => {})
    network.socket?.close()
  }

  /** Whose session it is, is no matter of a walk. */
  async #sayUser(): Promise<unknown> {
    return { user: { user_id: this.#parts.user.userId } }
  }

  #meet(call: Call): Promise<unknown> {
    if (call.name === 'getUserId') return this.#sayUser()
    const meets = drawn(fates, this.#parts.chance())
    const fate: Fate = this.#parts.isOlder ? (call) => meets(asOlder(call)) : meets
    if (this.#parts.chance() < 0.9) return fate(call)
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#held.push(() => fate(call).then(resolve, reject))
    return promise
  }

  #meetSocket(socket: TestSocket): void {
    const chance = this.#parts.chance()
    if (chance < 0.9) socket.greet(this.#parts.world.time)
    else if (chance < 0.97) socket.close()
  }
}

/** A request that arrives twice, as through a proxy that tries again. */
const twice: Fate = async ({ send }) => {
  await send()
  return send()
}

const fates: Fate[] = [...Array<Fate>(18).fill(up), down, answerLost, answerLost, twice, refused, refused]

function drawn<T>(items: readonly T[], chance: number): T {
  return items[Math.floor(chance * items.length)] as T
}

function idAt(index: number): string {
  return ids[index % ids.length] as string
}
