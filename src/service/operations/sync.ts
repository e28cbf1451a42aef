import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/engine/database.ts'
import { onceAnswered } from '../db/engine/query.ts'
import { typesIn } from '../db/tables/records.ts'
import { type ImportParts, importBookmarks } from '../sync/import.ts'
import { type PullParts, pull } from '../sync/pull.ts'
import { type PushParts, push } from '../sync/push.ts'
import { readStatus } from '../sync/status.ts'
import type { Operations } from './operation.ts'

type Parts = PullParts & PushParts & ImportParts & { database: Pick<Database, 'bulk' | 'isUnavailable'> }

export const syncOperations: Operations<'getSyncStatus' | 'pullChanges' | 'pushChanges' | 'importBookmarks', Parts> = {
  async getSyncStatus({ session, headers, query: { entity_types } }, parts) {
    try {
      const types = entity_types === undefined ? undefined : typesIn(entity_types)
      return { status: 200, body: await readStatus(parts, session.userId, headers['x-device-id'], types) }
    } catch (cause) {
      const details = parts.database.isUnavailable(cause)
        ? 'The database did not answer'
        : 'The status could not be read'
      throw new ServiceError('SyncStatusFailed', { cause, details })
    }
  },

  pullChanges({ caller, body }, parts) {
    const pulled = pull(parts, caller, body)
    return onceAnswered(pulled, (answer) => ({ status: 200, ...answer }))
  },

  async pushChanges({ caller, body }, parts) {
    return { status: 200, body: await push(parts, caller, body.changes) }
  },

  async importBookmarks({ caller, body }, parts) {
    return { status: 200, body: await importBookmarks(parts, caller, body.bookmarks) }
  },
}
