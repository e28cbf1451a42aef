/**
 * `encrypted-bookmark-sync-client/worker`: the sync for service workers, such as a browser extension's. Service workers
 * cannot load modules after their start, so this entry point imports all of the sync's code at its start.
 */
import * as deferred from './sync/deferred.ts'
import { createSyncOfClient, type Sync, type SyncOptions } from './sync/sync.ts'

/** Like `createSync` of the package's main entry point, but with the code that `start` would load. */
export function createSync(options: SyncOptions): Sync {
  return createSyncOfClient(async () => deferred, options)
}
