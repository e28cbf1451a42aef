import type { Operations } from '../contract.ts'
import { ServiceError } from '../errors.ts'
import { importBookmarks } from '../sync/import.ts'
import { pull } from '../sync/pull.ts'
import { push } from '../sync/push.ts'
import { readStatus } from '../sync/status.ts'

export const syncOperations: Operations<'getSyncStatus' | 'pullChanges' | 'pushChanges' | 'importBookmarks'> = {
  async getSyncStatus({ session, headers }, context) {
    try {
      return { status: 200, body: await readStatus(context, session.userId, headers['x-device-id']) }
    } catch (cause) {
      const details = context.database.isUnavailable(cause)
        ? 'The database did not answer'
        : 'The figures could not be read'
      throw new ServiceError('SyncStatusFailed', { cause, details })
    }
  },

  async pullChanges({ session, headers, body: { since, limit } }, context) {
    const device = { userId: session.userId, deviceId: headers['x-device-id'] }
    return { status: 200, body: await pull(context, device, since, limit) }
  },

  async pushChanges({ session, headers, body }, context) {
    const device = { userId: session.userId, deviceId: headers['x-device-id'] }
    return { status: 200, body: await push(context, device, body.changes) }
  },

  async importBookmarks({ session, headers, body }, context) {
    const device = { userId: session.userId, deviceId: headers['x-device-id'] }
    return { status: 200, body: await importBookmarks(context, device, body.bookmarks) }
  },
}
