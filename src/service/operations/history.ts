import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { dayMs } from '../../protocol/order.ts'
import { requireLogin } from '../auth/sessions.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database } from '../db/engine/database.ts'
import type { Answer } from '../db/engine/query.ts'
import { isKnown } from '../db/tables/bookmarks.ts'
import { type PageLimits, partLimits } from '../db/tables/changes.ts'
import { bytesOf } from '../db/tables/ciphertexts.ts'
import { settleVersion } from '../db/tables/conflicts.ts'
import { listTrash, type TrashRow } from '../db/tables/trash.ts'
import { lockUser } from '../db/tables/users.ts'
import { listOpen, listVersions, type VersionWithData } from '../db/tables/versions.ts'
import { beginCommit } from '../sync/numbers.ts'
import { purgeRecord } from '../sync/purge.ts'
import { restoreRecord } from '../sync/restore.ts'
import { type RewindParts, rewind } from '../sync/rewind.ts'
import { toBookmark } from './bookmarks.ts'
import { done, type Operations } from './operation.ts'

interface Retention {
  keepVersionsDays: number
}

interface Parts extends RewindParts {
  config: RewindParts['config'] & Retention
  database: RewindParts['database'] & Pick<Database, 'db'>
}

export const historyOperations: Operations<
  | 'listVersions'
  | 'restoreBookmark'
  | 'listTrash'
  | 'purgeBookmark'
  | 'listConflicts'
  | 'settleConflict'
  | 'rewindBookmarks',
  Parts
> = {
  async listVersions({ session: { userId }, params, query }, { config, database: { db } }) {
    const bookmark = { entity_type: 'bookmark', entity_id: params.id } as const
    const { rows, next } = await readPage(query, (page) => listVersions(db, { userId, ...bookmark, ...page }))
    if (rows.length === 0 && !(await isKnown(db, userId, params.id))) throw new ServiceError('BookmarkNotFound')
    return { status: 200, body: { versions: rows.map((row) => toVersion(row, config)), next } }
  },

  async restoreBookmark({ caller, params, body }, parts) {
    const row = await restoreRecord(parts, caller, params.id, body?.version_id)
    return { status: 200, body: toBookmark(row) }
  },

  async listTrash({ session: { userId }, query }, { config, database: { db } }) {
    const { rows, next } = await readPage(query, (page) => listTrash(db, { userId, ...page }))
    return { status: 200, body: { bookmarks: rows.map((row) => toDeleted(row, config)), next } }
  },

  async purgeBookmark({ session, params }, parts) {
    await purgeRecord(parts, session, params.id)
    return { status: 200, body: done }
  },

  async listConflicts({ session: { userId }, query }, { config, database: { db } }) {
    const { rows, next } = await readPage(query, (page) => listOpen(db, { userId, ...page }))
    return { status: 200, body: { conflicts: rows.map((row) => toVersion(row, config)), next } }
  },

  async settleConflict({ session: { userId, loginId }, params }, { database, ...parts }) {
    const isSettled = await database.write(async (trx) => {
      const { at } = beginCommit(await lockUser(trx, userId), parts)
      await requireLogin(trx, { userId, loginId })
      return settleVersion(trx, userId, params.id, at)
    }, userId)
    if (!isSettled) throw new ServiceError('ConflictNotFound')
    return { status: 200, body: done }
  },

  async rewindBookmarks({ caller, body }, parts) {
    return { status: 200, body: await rewind(parts, caller, body) }
  },
}

/** Reads a page of at most `limit` rows and `partLimits.bytes`. Also returns the `after` of the next page. */
async function readPage<Row extends { sequence: number; encrypted_data: string | null }>(
  { limit, after }: { limit: number; after?: string },
  read: (page: PageLimits & { before: number }) => Answer<Row[]>,
): Promise<{ rows: Row[]; next: string | null }> {
  const found: Row[] = []
  let before = after === undefined ? Number.MAX_SAFE_INTEGER : Math.min(Number(after), Number.MAX_SAFE_INTEGER)
  for (let isMore = true; isMore; ) {
    if (found.length > 0) await eventLoopTurn()
    const rows = Math.min(limit + 1 - found.length, partLimits.rows)
    const part = await read({ before, rows, bytes: partLimits.bytes - bytesOf(found) })
    found.push(...part)
    before = part.at(-1)?.sequence ?? before
    isMore = part.length === rows && found.length <= limit && bytesOf(found) < partLimits.bytes
  }
  const rows = found.slice(0, limit)
  const isCut = found.length > limit || bytesOf(rows) >= partLimits.bytes
  const last = isCut ? rows.at(-1) : undefined
  return { rows, next: last ? String(last.sequence) : null }
}

function toVersion(row: VersionWithData, config: Retention): Schemas['Version'] {
  const { version_id, entity_type, entity_id, operation, timestamp, device_id, encrypted_data, data_hash } = row
  const { began_at, ended_at, reason, replaced_by, settled_at } = row
  return {
    version_id,
    entity_type,
    entity_id,
    operation,
    timestamp,
    device_id,
    ...(encrypted_data !== null && { encrypted_data }),
    ...(data_hash !== null && { data_hash }),
    began: began_at,
    ended: ended_at,
    reason,
    replaced_by,
    settled_at,
    erased_at: erasedAt(row, config),
  }
}

function toDeleted(row: TrashRow, config: Retention): Schemas['DeletedBookmark'] {
  const { entity_id: id, encrypted_data, data_hash, created_at, updated_at, deleted_at } = row
  const erased_at = erasedAt(row, config)
  return { id, encrypted_data, data_hash: data_hash ?? '', created_at, updated_at, deleted_at, erased_at }
}

function erasedAt(row: Pick<TrashRow, 'stored_at' | 'behind'>, { keepVersionsDays }: Retention): number {
  return row.stored_at + row.behind + keepVersionsDays * dayMs
}
