import { randomBytes, randomUUID } from 'node:crypto'
import root, { type Test } from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { deriveKeys, type Keys } from '../../../src/client/crypto/keys.ts'
import { decryptBookmark } from '../../../src/client/crypto/record.ts'
import * as deferred from '../../../src/client/sync/deferred.ts'
import type { Update } from '../../../src/client/sync/edits/put.ts'
import type { LoadDeferred } from '../../../src/client/sync/life/run.ts'
import type { SyncEvents, SyncState } from '../../../src/client/sync/store/emitter.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import type { Tabs } from '../../../src/client/sync/store/tabs.ts'
import { createSyncOver, type Sync, type SyncOptions } from '../../../src/client/sync/sync.ts'
import type { Clock } from '../../../src/client/timing/clock.ts'
import { buildApp, type TestApp, type TestUser } from '../../support/app.ts'
import { pullAll } from '../../support/changes.ts'
import { until, World } from './clock.ts'
import { Network } from './network.ts'
import { markOf, VaultKeys } from './vault-keys.ts'

export interface Device {
  id: string
  sync: Sync
  network: Network
  store: Store
  /** The sync engine's own copy, which it overwrites at sign-out. */
  keys: Keys
  changes: SyncEvents['change'][]
  conflicts: SyncEvents['conflict'][]
  errors: SyncEvents['error'][]
  restored: SyncEvents['restored'][]
  mended: SyncEvents['mended'][]
  states: SyncState[]
}

interface DeviceOptions {
  user: TestUser
  keys: Keys
  world: World
  id: string
  /** How far ahead the device's clock is (ms). */
  skew?: number
  /** Replaces the world's clock. */
  clock?: Clock
  store?: Store
  /** Opens the user's store, if `store` is not given. */
  disk?: (userId: string) => Store
  tabs?: Tabs
  types?: SyncOptions['types']
  network?: Network
  random?: () => number
  signal?: AbortSignal
  /** By default, the code of `deferred.ts` is loaded already. */
  loadDeferred?: LoadDeferred
}

export function openDevice(options: DeviceOptions): Device {
  const { user, world, id, skew, disk = memoryStore, tabs, types, signal, random = () => 0.5 } = options
  const { store = disk(user.userId), loadDeferred = async () => deferred } = options
  // Signing out overwrites the keys, so each device has a copy.
  const keys = structuredClone(options.keys)
  const network = options.network ?? new Network(user, id)
  const sync = createSyncOver(() => network, loadDeferred, {
    keys,
    userId: user.userId,
    deviceId: id,
    store,
    tabs,
    types,
    clock: options.clock ?? world.clock(skew),
    random,
    signal,
  })
  const heard = { changes: [], conflicts: [], errors: [], restored: [], mended: [], states: [] }
  const device: Device = { id, sync, network, store, keys, ...heard }
  sync.on('change', (event) => device.changes.push(event))
  sync.on('conflict', (event) => device.conflicts.push(event))
  sync.on('error', (event) => device.errors.push(event))
  sync.on('restored', (event) => device.restored.push(event))
  sync.on('mended', (event) => device.mended.push(event))
  sync.on('status', ({ state }) => {
    if (state !== device.states.at(-1)) device.states.push(state)
  })
  return device
}

export function bookmark(id: string, title: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark {
  return { id, title, source: 'bookmarks', url: `https://example.org/${id}`, ...fields }
}

/** `b0`, `b1` and so on, with their numbers as titles. */
export function numbered(count: number): PlaintextBookmark[] {
  return Array.from({ length: count }, (_, index) => bookmark(`b${index}`, String(index)))
}

/** A person with an account and any number of devices, which stop at the end of the test. */
export interface Person {
  user: TestUser
  keys: Keys
  world: World
  device(id: string, options?: Partial<DeviceOptions>): Device
  /** The live bookmarks that the service holds: titles by id. */
  stored(): Promise<Record<string, string>>
}

const ids = ['a', 'b', 'c'] as const

/** A person whose devices are created whenever they are read, so once each: `const { a, b } = await people.open(t)`. */
type Somebody = { person: Person } & Record<(typeof ids)[number], Device>

interface People {
  app: TestApp
  person(t: Test): Promise<Person>
  open(t: Test, options?: { [id in keyof Somebody]?: Partial<DeviceOptions> }): Promise<Somebody>
}

let opened: Promise<People> | undefined

/** The service that all tests in this process share. It uses the clock of the latest person. */
export async function openPeople(): Promise<People> {
  opened ??= open()
  return opened
}

async function open(): Promise<People> {
  const app = await buildApp(root, { LOG_LEVEL: 'error' })
  const personOf = async (t: Test): Promise<Person> => {
    const world = new World((time) => app.setClock(time))
    const user = await app.user(randomUUID())
    const keys = deriveKeys(randomBytes(32))
    return {
      user,
      keys,
      world,
      device(id, options = {}) {
        const device = openDevice({ user, keys, world, id, ...options })
        t.teardown(() => device.sync.stop())
        return device
      },
      stored: () => titlesOf(user, keys),
    }
  }
  return {
    app,
    person: personOf,
    async open(t, options = {}) {
      const person = await personOf(t)
      const devices = ids.map((id) => [id, { get: () => person.device(id, options[id]) }] as const)
      return Object.defineProperties({ person } as Somebody, Object.fromEntries(devices))
    },
  }
}

/** The titles of the live bookmarks that the service holds, by their ids. */
export async function titlesOf(user: TestUser, keys: Keys): Promise<Record<string, string>> {
  const { changes } = await pullAll(user)
  const live = changes.filter(({ operation }) => operation !== 'delete')
  const titles = live.map(({ entity_id: id, encrypted_data = '', data_hash = '' }) => {
    return [id, decryptBookmark(keys, { id, encrypted_data, data_hash }).title] as const
  })
  return inOrder(titles)
}

export function shown({ sync }: Device): Record<string, string> {
  return inOrder([...sync.bookmarks()].map(([id, { title }]) => [id, title] as const))
}

function inOrder(titles: (readonly [id: string, title: string])[]): Record<string, string> {
  return Object.fromEntries(titles.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** The devices sync once each, in this order. */
export async function sync(...devices: readonly Device[]): Promise<void> {
  for (const { sync } of devices) await sync.syncNow()
}

/** Puts the bookmarks and syncs. Then the other devices sync once each, in this order. */
export async function send(
  device: Device,
  bookmarks: PlaintextBookmark | PlaintextBookmark[],
  ...others: Device[]
): Promise<void> {
  await device.sync.put(bookmarks)
  await sync(device, ...others)
}

/** Like `send`, but updates some fields. */
export async function update(device: Device, id: string, patch: Update, ...others: Device[]): Promise<void> {
  await device.sync.update(id, patch)
  await sync(device, ...others)
}

/** Like `send`, but deletes. */
export async function remove(device: Device, ids: string | readonly string[], ...others: Device[]): Promise<void> {
  await device.sync.remove(ids)
  await sync(device, ...others)
}

/** Starts the device, and has the service send `connected` on its channel. */
export async function online(person: Person, device: Device): Promise<void> {
  await device.sync.start()
  await greeted(person, device)
}

/** Waits until the device has opened a channel, then sends `connected` on it as the service does. */
export async function greeted({ world }: Person, { sync, network }: Device): Promise<void> {
  await until(() => network.socket?.isOpen === true)
  network.socket?.greet(world.time)
  await until(() => sync.status().state === 'online')
}

/** A person whose devices are opened with the vault's current keys. */
export interface Vault extends Person {
  readonly a: Device
  readonly b: Device
  vault: VaultKeys
  /** How many live bookmarks are encrypted with these keys, and how many with others. */
  sealed(keys: Keys): Promise<[own: number, others: number]>
}

export async function openVault(t: Test): Promise<Vault> {
  const person = await (await openPeople()).person(t)
  const vault = new VaultKeys(person.user)
  const device: Person['device'] = (id, options) => person.device(id, { keys: vault.keys, ...options })
  return {
    ...person,
    vault,
    device,
    get a() {
      return device('a')
    },
    get b() {
      return device('b')
    },
    async sealed(keys) {
      const { changes } = await pullAll(person.user)
      const live = changes.filter(({ operation }) => operation !== 'delete')
      const own = live.filter(({ encrypted_data }) => encrypted_data?.startsWith(markOf(keys)))
      return [own.length, live.length - own.length]
    },
  }
}
