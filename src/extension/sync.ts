import * as exchanging from '../client/sync/exchanging.ts'
import type { Deferred } from '../client/sync/life/run.ts'
import { createSyncOfClient, type Sync, type SyncOptions } from '../client/sync/sync.ts'

/** A sync with the functions that a browser's own bookmarks need. */
export type ExtensionSync = Omit<Sync, 'search' | 'importBookmarks' | 'move'>

/** Like `createSync` of `encrypted-bookmark-sync-client/worker`, without the code of `search`, `importBookmarks` and `move`. */
export function createSync(options: SyncOptions): ExtensionSync {
  return createSyncOfClient(async () => exchanging as Deferred, options)
}
