import type { Test } from 'tap'
import { WebSocket as CookieSocket } from 'undici'
import { createClient } from '../../../src/client/api/client.ts'
import type { Keys } from '../../../src/client/crypto/keys.ts'
import { createSync } from '../../../src/client/sync/create-sync.ts'
import type { RealtimeSocket } from '../../../src/client/sync/exchange/transport.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import type { Sync, SyncOptions } from '../../../src/client/sync/sync.ts'
import type { TestUser } from '../../support/app.ts'
import { cookieOf, fetchWith, jarOf } from '../connection.ts'

interface DeviceOptions {
  store?: Store
  baseUrl: string | (() => string)
  user: TestUser
  keys: Keys
  id: string
  onAnswer?(path: string, status: number): void
}

/** A device in Node, where cookies must be sent explicitly. */
export function open(t: Test, options: DeviceOptions): Sync {
  const { user, keys, id, store = memoryStore() } = options
  const sync = createSync({ ...clientOf(options), keys, userId: user.userId, deviceId: id, store })
  t.teardown(() => sync.stop())
  return sync
}

export function clientOf(options: Omit<DeviceOptions, 'keys'>): Pick<SyncOptions, 'client' | 'webSocket'> {
  const { baseUrl, user, id, onAnswer } = options
  const origin = typeof baseUrl === 'string' ? () => baseUrl : baseUrl
  const jar = jarOf(user)
  const client = createClient({
    baseUrl: origin(),
    deviceId: id,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      const response = await fetchWith(jar, new Request(new URL(pathname + search, origin()), request))
      onAnswer?.(pathname, response.status)
      return response
    },
  })
  const webSocket: SyncOptions['webSocket'] = (url) =>
    new CookieSocket(url, { headers: { cookie: cookieOf(jar) } }) as unknown as RealtimeSocket
  return { client, webSocket }
}
