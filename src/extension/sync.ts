import { clientTransport } from '../client/sync/exchange/transport.ts'
import * as exchanging from '../client/sync/exchanging.ts'
import type { Deferred } from '../client/sync/life/run.ts'
import { createSyncOver, type Sync, type SyncOptions } from '../client/sync/sync.ts'

/** A sync with the functions that a browser's own bookmarks need. */
export type ExtensionSync = Omit<Sync, 'search' | 'importBookmarks' | 'move'>

/** Like `createSync` of `/worker`, without the code of `search`, `importBookmarks` and `move`. */
export function createSync({ client, webSocket, ...options }: SyncOptions): ExtensionSync {
  const connect = () => clientTransport(client, options.userId, webSocket)
  const sync = createSyncOver(connect, async () => exchanging as Deferred, options)
  client.as(options.userId).deviceId = () => sync.deviceId
  return sync
}
