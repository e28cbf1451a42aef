import { onDemand } from '../api/unwrap.ts'
import { createSyncOfClient, type Sync, type SyncOptions } from './sync.ts'

/**
 * Creates the sync of one user's bookmarks on this device. Reads and sends nothing until a method is called.
 *
 * @throws RangeError `userId`, `deviceId` or an element of `types` is not valid
 */
export function createSync(options: SyncOptions): Sync {
  return createSyncOfClient(() => onDemand(import('./deferred.ts')), options)
}
