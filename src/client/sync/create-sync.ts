import { onDemand } from '../api/unwrap.ts'
import { createSyncOver, type Sync, type SyncOptions } from './sync.ts'

/**
 * Creates the sync of one user's bookmarks on this device. Reads and sends nothing until a method is called.
 *
 * @throws RangeError `userId`, `deviceId` or an element of `types` is not valid
 */
export function createSync({ client, webSocket, ...options }: SyncOptions): Sync {
  const sync = createSyncOver(
    ({ clientTransport }) => clientTransport(client, options.userId, webSocket),
    () => onDemand(import('./deferred.ts')),
    options,
  )
  client.as(options.userId).deviceId = () => sync.deviceId
  return sync
}
