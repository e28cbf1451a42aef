import { createClient } from '../../../src/client/api/client.ts'
import type { EntityType, PlaintextBookmark } from '../../../src/client/bookmark.ts'
import type { Keys } from '../../../src/client/crypto/keys.ts'
import { RecordError, StorageFullError, UnsentChangesError } from '../../../src/client/errors.ts'
import { createSync } from '../../../src/client/sync/create-sync.ts'
import { entityTypes, typeOf } from '../../../src/client/sync/store/key.ts'
import { isBlank, viewOf } from '../../../src/client/sync/store/row.ts'
import { type Meta, type Row, type Store, StoreEmptiedError } from '../../../src/client/sync/store/store.ts'
import { createTabs, type TabMessage, type TabsPlatform } from '../../../src/client/sync/store/tabs.ts'
import type { Sync } from '../../../src/client/sync/sync.ts'
import { listChangePage } from '../../../src/service/db/tables/changes.ts'
import { toSyncEvent } from '../../../src/service/sync/event.ts'
import type { TestApp } from '../../support/app.ts'
import { jarOf } from '../connection.ts'
import { counted, turns, type World } from '../sync/clock.ts'
import type { TestSocket } from '../sync/network.ts'
import { Browser } from '../sync/tab-locks.ts'
import type { VaultKeys } from '../sync/vault-keys.ts'
import type { Dice } from './dice.ts'
import type { Ledger } from './ledger.ts'
import { keyed, keyedConflict, mixed } from './mixed.ts'
import { type Line, type PushAnswer, type PushBody, Wire } from './wire.ts'

interface Parts {
  app: TestApp
  /** The name by which the person signs in. */
  name: string
  userId: string
  vault: VaultKeys
  world: World
  ledger: Ledger
  /** Decides randomly what happens to devices, disks and connections. */
  dice: Dice
  onSend(body: PushBody): void
  onPush(body: PushBody, answer: PushAnswer, by: Device): void
  /** The service's epoch, which is new after each restore. */
  epoch(): string
  /** True if the run has tab groups and history. */
  isMixed: boolean
  fail(what: string, details: unknown): void
}

interface DeviceTraits {
  skewMs: number
  isShared: boolean
  isOlder: boolean
}

/** A tab's open form for a bookmark, with the bookmark as it was when the form was opened. */
interface Form {
  shown: PlaintextBookmark
  /** The length of the ledger when the form was opened. */
  since: number
}

/** A page of the app. */
export interface Tab {
  sync: Sync
  wire: Wire
  form?: Form | undefined
  kill(): void
}

/** A person's browser: its tabs, its storage, its connection and its clock. */
export class Device {
  readonly id: string
  /** The id that its store was created with. A copy of the store has the same. */
  readonly madeAs: string
  readonly disk: Disk
  readonly line: Line
  readonly tabs: Tab[] = []
  /** The connections of all tabs, closed ones included. */
  readonly wires: Wire[] = []
  /** Tabs that were open at a sign-out. They end by themselves. */
  readonly left: Tab[] = []
  /** How far the clock is ahead (ms). */
  skewMs: number
  /** Calls of methods that have not returned, each with its name. Calls of killed tabs never return. */
  readonly open = new Map<object, { what: string; tab: Tab }>()
  /** `leaving`: a sign-out is in progress. */
  session: 'in' | 'leaving' | 'out' | 'expired' = 'out'
  /** The entity types that the app chooses. */
  types: readonly EntityType[] | undefined
  readonly #parts: Parts
  readonly #locks = new Browser()
  readonly #air = new Air()
  readonly #isShared: boolean
  #keys: Keys
  /** Delivered messages of the socket, which `hearAgain` delivers again. */
  #said: { socket: TestSocket; message: object }[] = []

  constructor(parts: Parts, id: string, { skewMs, isShared, isOlder }: DeviceTraits, original?: Device) {
    const { app, world, dice, onSend, onPush, epoch } = parts
    this.#parts = parts
    this.madeAs = original?.madeAs ?? id
    this.#keys = original ? original.#keys : parts.vault.keys
    this.id = id
    this.skewMs = skewMs
    this.#isShared = isShared
    if (parts.isMixed) this.types = entityTypes
    this.disk = new Disk(dice, parts.ledger, original?.disk)
    this.line = {
      app,
      world,
      dice,
      onSend,
      onPush: (body, answer) => onPush(body, answer, this),
      epoch,
      cookies: {},
      weather: 'fair',
      isOverQuota: false,
      refused: new Set(),
      isOlder,
    }
  }

  /** One of the open tabs, chosen at random; undefined if none is open. */
  get tab(): Tab | undefined {
    return this.tabs.length > 0 ? this.#parts.dice.pick(this.tabs) : undefined
  }

  get mostTabs(): number {
    return this.#isShared ? 3 : 1
  }

  async signIn(): Promise<void> {
    const { app, name, fail } = this.#parts
    if (this.session === 'out' && !this.disk.isEmpty)
      fail(`${this.id} had signed out and left data`, [...this.disk.rows.keys()])
    if (this.session === 'out') this.#keys = this.#parts.vault.keys
    this.line.cookies = jarOf(await app.user(name))
    this.session = 'in'
    if (this.tabs.length === 0) this.openTab()
    for (const tab of this.tabs) this.call('start', tab, tab.sync.start())
  }

  /** Removes the cookies, as if the session had reached its maximum age. */
  expire(): void {
    this.line.cookies = {}
    this.session = 'expired'
  }

  openTab(): void {
    const { userId, world, dice, ledger, fail, isMixed } = this.#parts
    const { store, kill } = this.disk.open({ shared: this.#isShared })
    const { locks, kill: releaseLocks } = this.#locks.tab()
    const channel = this.#air.port()
    const wire = new Wire(this.line)
    this.wires.push(wire)
    const created = createSync({
      client: createClient({ baseUrl: 'http://localhost', deviceId: this.madeAs, fetch: wire.fetch }),
      keys: copyOf(this.#keys),
      userId,
      deviceId: this.madeAs,
      store,
      types: this.types,
      tabs: this.#isShared ? createTabs(userId, { locks, channel }) : undefined,
      webSocket: wire.openSocket,
      clock: world.clock(() => this.skewMs),
      random: dice.roll,
    })
    const sync = isMixed ? mixed(created) : created
    const tab: Tab = {
      sync,
      wire,
      kill: () => {
        kill()
        wire.kill()
        channel.close()
        releaseLocks()
        this.#forget(tab)
      },
    }
    sync.on('conflict', (conflict) => {
      ledger.tell(conflict)
      // A store does not keep conflicts of types that the app has dropped: they are only emitted.
      if (!(this.types ?? entityTypes).includes(typeOf(conflict.id))) ledger.keep(conflict)
    })
    sync.on('mended', (mended) => fail(`${this.id} had gone wrong`, mended))
    sync.on('error', ({ id, error }) => {
      const isExpected = expectedErrors.includes(error.name) || (id === undefined && lacksKeys(error))
      if (!isExpected) fail(`${this.id} reports ${error.name}`, error.stack)
    })
    this.tabs.push(tab)
    this.call('start', tab, sync.start())
  }

  /** The person types the passphrase in all tabs. */
  unlock(): void {
    this.#keys = this.#parts.vault.keys
    for (const tab of this.tabs) {
      const adopted = tab.sync.adoptKeys(copyOf(this.#keys)).finally(() => tab.sync.start())
      this.call('adopt', tab, adopted)
    }
  }

  /** Closes the tab in an orderly way. */
  closeTab(tab: Tab): void {
    this.#drop(tab)
    this.call('stop', tab, tab.sync.stop())
  }

  /** Copies the profile: its storage and its keys. The returned function replaces the profile with the copy. */
  copy(): () => void {
    const [keys, putBack, { ledger }] = [this.#keys, this.disk.copy(), this.#parts]
    const { length } = ledger
    return () => {
      this.crash()
      this.#keys = keys
      ledger.goBack(this.id, length, ...putBack())
      this.openTab()
    }
  }

  /** A second machine with the same storage and keys, and its own login; undefined with unsent edits or empty storage. */
  async twin(): Promise<Device | undefined> {
    const isSent = [...this.disk.rows.values()].every(({ waiting }) => waiting.length === 0)
    if (!isSent || this.disk.isEmpty) return undefined
    const traits = { skewMs: this.skewMs, isShared: this.#isShared, isOlder: false }
    const twin = new Device(this.#parts, `${this.id} copy`, traits, this)
    twin.types = this.types
    // The copy has data and no session, like a device whose session has expired.
    twin.session = 'expired'
    await twin.signIn()
    return twin
  }

  /** Kills the whole browser: nothing is finished and nothing is reported. */
  crash(): void {
    for (const tab of [...this.tabs]) tab.kill()
    if (this.session !== 'leaving') return
    if (this.disk.isEmpty) this.#parts.ledger.lose(this.id)
    this.expire()
  }

  /**
   * Signs out in this tab, and so on the whole device, unless there are unsent edits that may not be discarded.
   *
   * @param discardUnsent whether unsent edits may be discarded
   */
  signOut(tab: Tab, discardUnsent: boolean): void {
    this.session = 'leaving'
    const leave = () => this.#leave(tab, discardUnsent)
    const outcome = tab.sync.signOut({ discardUnsent }).then(leave, (error) => {
      // The response to a killed tab is ignored.
      if (!this.tabs.includes(tab)) return
      if (error instanceof UnsentChangesError) return this.#stay()
      leave()
      throw error
    })
    this.call('sign-out', tab, outcome)
  }

  /** Tracks a call of a method until it returns. */
  call(what: string, tab: Tab, promise: Promise<unknown>): void {
    const key = {}
    this.open.set(key, { what, tab })
    promise
      .catch((error: Error) => {
        if ([...expectedErrors, ...refusals].includes(error.name) || lacksKeys(error)) return
        this.#parts.fail(`${this.id}: ${what} fails with ${error.name}`, error.stack)
      })
      .finally(() => this.open.delete(key))
  }

  /** Delivers up to `count` new changes over an open socket, as the service's hub does. */
  async hear(count: number): Promise<void> {
    const { app, userId } = this.#parts
    const { socket } = this.tabs.map(({ wire }) => wire).find(({ socket }) => socket?.isOpen) ?? {}
    if (!socket) return
    const rows = await listChangePage(app.context.database.db, userId, socket.cursor, { rows: count, bytes: 1e6 })
    for (const row of rows) {
      const message = { type: 'sync', event: toSyncEvent(row), stamp: row.sequence, previous_stamp: socket.cursor }
      socket.cursor = row.sequence
      this.#said.push({ socket, message })
      socket.say(message)
    }
  }

  /** Delivers earlier messages again. */
  hearAgain(): void {
    for (const { socket, message } of this.#said.slice(-8)) socket.say(message)
  }

  stored(): Map<string, PlaintextBookmark> {
    return new Map(
      [...this.disk.rows].flatMap(([key, row]) => {
        const { bookmark } = viewOf(row)
        return bookmark ? [[key, keyed(bookmark, key)]] : []
      }),
    )
  }

  #stay(): void {
    this.session = 'in'
  }

  #leave({ sync }: Tab, discardUnsent: boolean): void {
    const { ledger, fail } = this.#parts
    const unsent = ledger.lose(this.id)
    if (!discardUnsent && unsent.length > 0) fail(`${this.id} has signed out and lost unsent edits`, unsent)
    if (!this.disk.isEmpty) fail(`${this.id} has signed out and left data`, [...this.disk.rows.keys()])
    if (sync.bookmarks().size > 0) fail(`${this.id} has signed out and shows data`, [...sync.bookmarks().keys()])
    this.session = 'out'
    this.left.push(...this.tabs.splice(0))
  }

  #drop(tab: Tab): void {
    const place = this.tabs.indexOf(tab)
    if (place >= 0) this.tabs.splice(place, 1)
  }

  #forget(tab: Tab): void {
    this.#drop(tab)
    for (const [key, call] of this.open) if (call.tab === tab) this.open.delete(key)
  }
}

/** Names of errors that a bad connection, a sign-out or a full disk can cause. A captive portal's page is not JSON. */
const expectedErrors = ['ApiError', 'OfflineError', 'SignedOutError', 'StorageFullError', 'SyntaxError']

/** Errors that a method may throw while the person signs out, or if a record to be moved no longer exists. */
const refusals = ['AbortError', 'RangeError']

/** True if the keys were rotated and this device does not have the new ones. */
function lacksKeys(error: Error): boolean {
  return error instanceof RecordError && error.fault === 'unknown-key'
}

/** Copies the keys, because a sign-out overwrites them. */
function copyOf(keys: Keys): Keys {
  return structuredClone(keys)
}

/** A browser's storage for one person. All tabs share it, and the browser may clear it at any time. */
class Disk {
  readonly rows = new Map<string, Row>()
  meta: Meta | undefined
  isFull = false
  readonly #dice: Dice
  readonly #ledger: Ledger
  /** The number of operations until the browser clears the storage. */
  #untilEvicted = Number.POSITIVE_INFINITY
  /** True if it was cleared and no tab has filled it again. */
  isEvicted = false
  /** True from the opening of a tab until a tab reads it. */
  isUnread = false

  constructor(dice: Dice, ledger: Ledger, original?: Disk) {
    this.#dice = dice
    this.#ledger = ledger
    this.meta = original?.meta
    for (const [id, row] of original?.rows ?? []) this.rows.set(id, row)
  }

  get isEmpty(): boolean {
    return this.meta === undefined && this.rows.size === 0
  }

  evict(afterOperations: number): void {
    this.#untilEvicted = afterOperations
    if (afterOperations === 0) this.#empty()
  }

  lose(): void {
    this.#empty({ isEvicted: false })
  }

  /**
   * The returned function restores the current state. It returns the ids of bookmarks of which that state had sent
   * nothing, and the ids that have an unsent edit.
   */
  copy(): () => [unsent: string[], waiting: string[]] {
    const [rows, meta] = [new Map(this.rows), this.meta]
    const isUnsent = ({ version, waiting }: Row) => !version?.bookmark && !waiting.some(({ sent }) => sent)
    return () => {
      this.lose()
      for (const [id, row] of rows) this.rows.set(id, row)
      this.meta = meta
      const idsOf = (is: (row: Row) => boolean) => [...rows.values()].filter(is).map(({ id }) => id)
      return [idsOf(isUnsent), idsOf(({ waiting }) => waiting.some(({ sent }) => !sent))]
    }
  }

  /** Clears the storage now if that was due later. */
  hurryEviction(): void {
    if (this.#untilEvicted < Number.POSITIVE_INFINITY) this.#empty()
  }

  /** The store as a tab sees it. After the tab is killed, its operations never return. */
  open({ shared }: { shared: boolean }): { store: Store; kill(): void } {
    this.isUnread = true
    let isDead = false
    let wasStored = false
    const operation = async <T>(work: () => T): Promise<T> => {
      if (this.#dice.happens(0.1)) await counted(() => turns(1))
      if (isDead) return new Promise<T>(() => {})
      const result = work()
      if (--this.#untilEvicted < 0) this.#empty()
      return result
    }
    const read = (rows: Row[]) => {
      this.isUnread = false
      wasStored = this.meta !== undefined
      return { meta: this.meta, rows }
    }
    const write = (rows: readonly Row[], meta: Meta) => {
      const isEmptied = wasStored && !this.meta
      wasStored = !isEmptied
      if (isEmptied) throw new StoreEmptiedError()
      this.#write(rows, meta)
    }
    const store: Store = {
      shared,
      load: () => operation(() => read([...this.rows.values()])),
      read: (ids) => operation(() => read(ids.flatMap((id) => this.rows.get(id) ?? []))),
      write: (rows, meta) => operation(() => write(rows, meta)),
      wipe: () => operation(() => this.#empty({ isEvicted: false })),
      close() {},
    }
    return {
      store,
      kill() {
        isDead = true
      },
    }
  }

  #write(rows: readonly Row[], meta: Meta): void {
    if (this.isFull) throw new StorageFullError()
    for (const row of rows) {
      if (isBlank(row)) this.rows.delete(row.id)
      else this.rows.set(row.id, row)
      for (const conflict of row.conflicts) this.#ledger.keep(keyedConflict(conflict))
    }
    this.meta = { ...meta }
    this.isEvicted = false
  }

  #empty({ isEvicted = !this.isEmpty || this.isEvicted } = {}): void {
    this.rows.clear()
    this.meta = undefined
    this.isEvicted = isEvicted
    this.#untilEvicted = Number.POSITIVE_INFINITY
  }
}

type Port = NonNullable<TabsPlatform['channel']>
type Listener = (event: { data: unknown }) => void

/** Delivers the messages between the tabs of a browser: `signed-out` at once, others a turn of the event loop later. */
class Air {
  readonly #listeners = new Map<object, Listener>()

  port(): Port {
    const own = {}
    const post = (message: TabMessage) => {
      // A killed tab sends nothing more.
      if (!this.#listeners.has(own)) return
      const data = structuredClone(message)
      void counted(async () => {
        // The engine requires that a tab gets `signed-out` before it gets the lock of the sign-out.
        await (data.type === 'signed-out' ? undefined : turns(1))
        for (const [port, listener] of [...this.#listeners]) if (port !== own) listener({ data })
      })
    }
    return {
      postMessage: post,
      addEventListener: (_name: string, listener: unknown) => {
        this.#listeners.set(own, listener as Listener)
      },
      close: () => {
        this.#listeners.delete(own)
      },
    } as Port
  }
}
