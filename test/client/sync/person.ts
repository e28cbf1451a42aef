import { randomBytes, randomUUID } from 'node:crypto'
import root, { type Test } from 'tap'
import { deriveKeys, type Keys } from '../../../src/client/crypto/keys.ts'
import { decryptBookmark } from '../../../src/client/crypto/record.ts'
import { buildApp, type TestApp, type TestUser } from '../../support/app.ts'
import { pullAll } from '../../support/changes.ts'
import { World } from './clock.ts'
import { type Device, type DeviceOptions, openDevice } from './device.ts'

/** Somebody with an account and any number of devices, which stop at the end of the test. */
export interface Person {
  user: TestUser
  keys: Keys
  world: World
  device(id: string, options?: Partial<DeviceOptions>): Device
  /** The live bookmarks that the service holds: titles by id. */
  stored(): Promise<Record<string, string>>
}

export interface People {
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

/** What a device shows: titles by id. */
export function shown({ sync }: Device): Record<string, string> {
  const entries = [...sync.bookmarks()].map(([id, { title }]) => [id, title] as const)
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}
