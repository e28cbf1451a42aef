import { randomBytes, randomUUID } from 'node:crypto'
import root, { type Test } from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { deriveKeys, type Keys } from '../../../src/client/crypto/keys.ts'
import { decryptBookmark } from '../../../src/client/crypto/record.ts'
import * as deferred from '../../../src/client/sync/deferred.ts'
import type { LoadDeferred } from '../../../src/client/sync/life/run.ts'
import type { SyncEvents, SyncState } from '../../../src/client/sync/store/emitter.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import type { Tabs } from '../../../src/client/sync/store/tabs.ts'
import { createSyncOver, type Sync } from '../../../src/client/sync/sync.ts'
import type { Clock } from '../../../src/client/timing/clock.ts'
import { buildApp, type TestApp, type TestUser } from '../../support/app.ts'
import { pullAll } from '../../support/changes.ts'
import { World } from './clock.ts'
import { Network } from './network.ts'

export interface Device {
  id: string
  sync: Sync
  network: Network
  store: Store
  /** The engine's own copy. */
  keys: Keys
  changes: SyncEvents['change'][]
  conflicts: SyncEvents['conflict'][]
  errors: SyncEvents['error'][]
  states: SyncState[]
}

interface DeviceOptions {
  user: TestUser
  keys: Keys
  world: World
  id: string
  /** How far ahead its clock is (ms). */
  skew?: number
  /** Instead of the world's. */
  clock?: Clock
  store?: Store
  tabs?: Tabs
  network?: Network
  random?: () => number
  signal?: AbortSignal
  /** Default: the file is there at once. */
  loadDeferred?: LoadDeferred
}

export function openDevice(options: DeviceOptions): Device {
  const { user, world, id, skew, store = memoryStore(), tabs, signal, random = () => 0.5 } = options
  const { loadDeferred = async () => deferred } = options
  const keys = copyOf(options.keys)
  const network = options.network ?? new Network(user, id)
  const sync = createSyncOver(network, {
    keys,
    userId: user.userId,
    deviceId: id,
    store,
    tabs,
    clock: options.clock ?? world.clock(skew),
    random,
    signal,
    loadDeferred,
  })
  const device: Device = { id, sync, network, store, keys, changes: [], conflicts: [], errors: [], states: [] }
  sync.on('change', (event) => device.changes.push(event))
  sync.on('conflict', (event) => device.conflicts.push(event))
  sync.on('error', (event) => device.errors.push(event))
  sync.on('status', ({ state }) => {
    if (state !== device.states.at(-1)) device.states.push(state)
  })
  return device
}

/** Signing out overwrites them. */
function copyOf(keys: Keys): Keys {
  return structuredClone(keys)
}

export function bookmark(id: string, title: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark {
  return { id, title, source: 'bookmarks', url: `https://example.org/${id}`, ...fields }
}

/** Somebody with an account and any number of devices, which stop at the end of the test. */
export interface Person {
  user: TestUser
  keys: Keys
  world: World
  device(id: string, options?: Partial<DeviceOptions>): Device
  /** The live bookmarks that the service holds: titles by id. */
  stored(): Promise<Record<string, string>>
}

interface People {
  app: TestApp
  person(t: Test): Promise<Person>
}

let opened: Promise<People> | undefined

/** The service that all tests in this process share, on the clock of the person made last. */
export async function openPeople(): Promise<People> {
  opened ??= open()
  return opened
}

async function open(): Promise<People> {
  const app = await buildApp(root, { LOG_LEVEL: 'error' })
  return {
    app,
    async person(t) {
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
        async stored() {
          const { changes } = await pullAll(user)
          const live = changes.filter(({ operation }) => operation !== 'delete')
          return Object.fromEntries(
            live.map(({ entity_id: id, encrypted_data = '', data_hash = '' }) => {
              return [id, decryptBookmark(keys, { id, encrypted_data, data_hash }).title]
            }),
          )
        },
      }
    },
  }
}

export function shown({ sync }: Device): Record<string, string> {
  const entries = [...sync.bookmarks()].map(([id, { title }]) => [id, title] as const)
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}
