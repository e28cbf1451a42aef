/**
 * `encrypted-bookmark-sync-client/worker`: the sync for service workers, such as a browser extension's. Service
 * workers cannot load modules after their start, so this entry point imports everything at its start.
 */
import * as deferred from './sync/deferred.ts'
import { clientTransport } from './sync/exchange/transport.ts'
import { createSyncOver, type Sync, type SyncOptions } from './sync/sync.ts'

/** Like `createSync` of the package's main entry point, but with the code that `start` would load. */
export function createSync({ client, webSocket, ...options }: SyncOptions): Sync {
  const connect = () => clientTransport(client, options.userId, webSocket)
  const sync = createSyncOver(connect, async () => deferred, options)
  client.as(options.userId).deviceId = () => sync.deviceId
  return sync
}
