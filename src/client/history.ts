/** `encrypted-bookmark-sync-client/history`: earlier versions, the trash, conflicts of all devices, going back in time. */
import type { components } from '../../generated/client.ts'
import { isReencrypted } from '../protocol/re-encrypted.ts'
import type { Client } from './api/client.ts'
import { answer, unwrap } from './api/unwrap.ts'
import { withoutDeviceId } from './api/without-device-id.ts'
import { differingFields } from './bookmark/merge.ts'
import type { PlaintextBookmark } from './bookmark.ts'
import { areErased, type Keys } from './crypto/keys.ts'
import { decryptBookmarkAside } from './crypto/many-records.ts'
import type { StoredRecord } from './crypto/record.ts'
import { RecordError, SignedOutError } from './errors.ts'
import type { Sync } from './sync/sync.ts'

type Schemas = components['schemas']

/** The options of `createHistory`. */
export interface HistoryOptions {
  /** The sync's client. */
  client: Client
  /** The sync's keys. */
  keys: Keys
  /** The signed-in user's `user_id`. */
  userId: string
  /** The device's sync. It need not be started. */
  sync: Pick<Sync, 'syncNow' | 'heldDeletions' | 'approveDeletions'>
}

/** Selects a page of a list. */
export interface PageOptions {
  /** The `next` of the page before. Default: the first page. */
  after?: string | undefined
  signal?: AbortSignal | undefined
}

/**
 * The service keeps earlier versions and deleted bookmarks for a while (30 days, unless the operator has set another
 * number). It cannot decrypt them: a version that the given keys do not open is listed with its `error`.
 *
 * All methods need the network. They reject with OfflineError, SignedOutError (also if another user is signed in;
 * nothing was changed), ApiError, or the signal's reason.
 *
 * `restoreVersion`, `purge` and `rewind` first send this device's unsent edits, so they act on those, too. Their changes
 * win on the service and reach the other devices like any change: unsent edits there are merged with them by field. The
 * methods resolve once this device shows the result. If the connection is lost after the service has done its part, they
 * resolve earlier, and the next sync brings the result.
 */
export interface History {
  /**
   * The earlier versions of a live or deleted bookmark, newest first: those that were replaced, and those that lost when
   * they arrived. The current version is what `sync.get` returns. A version and its copies that key rotations have
   * re-encrypted are listed once, if the keys open them. The list is empty if the service does not know the bookmark.
   */
  history(id: string, options?: { signal?: AbortSignal | undefined }): Promise<BookmarkVersion[]>
  /**
   * Makes a version's content current again, and settles its conflict if one is open. Without `versionId`, restores the version
   * before the current one; if the bookmark is deleted, the version before the delete.
   *
   * @throws ApiError 404: the service does not keep the bookmark or this version any more
   */
  restoreVersion(id: string, versionId?: string): Promise<void>
  /** Deleted bookmarks that can be restored, the most recently deleted first; `next` is null on the last page. */
  trash(options?: PageOptions): Promise<{ bookmarks: DeletedBookmark[]; next: string | null }>
  /**
   * Erases a deleted bookmark and all its versions from the service for good. Repeating it is not an error.
   *
   * @throws ApiError 404: the bookmark is not deleted
   * @throws SignInAgainError the sign-in is older than 10 minutes, and with such sign-ins the user erased 20 in 24 hours
   */
  purge(id: string): Promise<void>
  /**
   * Returns bookmarks and tab groups, but not the browsing history, to their state at the time `to`. With `dryRun`, only
   * counts the changes.
   *
   * After an interruption, what is done stays done; call it again with the same `to` to go on. As long as the versions are
   * kept, a rewind to the moment before it brings everything back. This device applies its deletes without asking, but
   * other devices may hold many deletes until the user approves them there (`heldDeletions`).
   */
  rewind(options: RewindOptions): Promise<RewindCounts>
  /**
   * Versions that lost to a version whose device had not seen them, and whose conflict is not settled; newest first.
   * The device that made a losing version removes it from the list once its own `conflicts` has it.
   */
  serverConflicts(options?: PageOptions): Promise<{ conflicts: BookmarkVersion[]; next: string | null }>
  /**
   * Removes a conflict from the list on all devices, and leaves the bookmark as it is. To put the version back instead,
   * call `restoreVersion`.
   *
   * @throws ApiError 404: the conflict is not on the list any more
   */
  settleConflict(versionId: string): Promise<void>
}

/** A version's content, or why it cannot be read. */
interface Opened {
  /** Null if the version is a delete or cannot be decrypted. */
  bookmark: PlaintextBookmark | null
  /** Why it cannot be decrypted; null otherwise. It can be restored nevertheless, for a device that has its key. */
  error: RecordError | null
}

/** A version of a bookmark that was replaced, or that lost when it arrived. */
export interface BookmarkVersion extends Opened {
  versionId: string
  /** The bookmark's id. */
  id: string
  operation: 'create' | 'update' | 'delete'
  /** When it was made (Unix ms), by the clock of the device that made it. */
  timestamp: number
  deviceId: string
  /** The service's time at which it became current (Unix ms); null if it never did. */
  began: number | null
  /** The service's time at which it was replaced, or lost (Unix ms). */
  ended: number
  /**
   * - `superseded`: the replacing device had seen it, or had made it
   * - `overwritten`: the replacing device had not seen it
   * - `rejected`: it lost when it arrived
   */
  reason: 'superseded' | 'overwritten' | 'rejected'
  /** When its conflict was settled (Unix ms); null if it is open, or if there was none. */
  settledAt: number | null
  /** The service erases it within about an hour after this (Unix ms); earlier for space, or if it keeps 50 others of the bookmark. */
  erasedAt: number
}

/** A deleted bookmark that can be restored. */
export interface DeletedBookmark extends Opened {
  id: string
  /** When it was deleted (Unix ms), by the clock of the device that deleted it. */
  deletedAt: number
  /** The service erases it within about an hour after this (Unix ms); earlier if it needs the space. */
  erasedAt: number
}

/** The options of `rewind`. */
export interface RewindOptions {
  /** The time to go back to (Unix ms, the service's clock). To undo a rewind: the value of `sync.seen()` right before it. */
  to: number
  /** True to count only, without changing anything. */
  dryRun: boolean
  /** Called after each 500 records with the counts so far. The sum of a dry run's counts is the number of all records. */
  onProgress?: ((counts: RewindCounts) => void) | undefined
  signal?: AbortSignal | undefined
}

/** The result of a rewind, or of a dry run: numbers of records (bookmarks, tab groups, history), live and deleted. */
export interface RewindCounts {
  /** Records that got back their content of that time. */
  restored: number
  /** Records that the rewind deleted, because they were added later or were deleted at that time. */
  deleted: number
  /** Records that were the same at that time, and all history entries. */
  unchanged: number
  /** Records that stay as they are, because their version of that time is not kept any more. */
  beyondRetention: number
}

/** Opens the history of the bookmarks that `sync` keeps on this device. Sends nothing until a method is called. */
export function createHistory({ client: baseClient, keys, userId, sync }: HistoryOptions): History {
  const client = baseClient.as(userId)
  return {
    async history(id, { signal } = {}) {
      const kept: Schemas['Version'][] = []
      for (let after: string | null | undefined, pages = 0; after !== null && pages < mostVersions; pages++) {
        const params = { path: { id }, query: { limit: mostVersions, ...(after && { after }) } }
        const page = await answer(client.GET('/api/v1/bookmarks/{id}/versions', { params, signal: signal ?? null }))
        if (page.response.status === 404) return []
        const { versions, next } = unwrap(page)
        kept.push(...versions)
        after = next
      }
      // Opened under this bookmark's id, so that a version of another bookmark does not open.
      const versions = await openVersions(
        keys,
        kept.map((version) => ({ ...version, entity_id: id })),
      )
      return onceEach(versions, await openCurrent({ client, keys }, id, kept, signal))
    },

    async restoreVersion(id, versionId) {
      await sync.syncNow()
      const body = versionId === undefined ? {} : { version_id: versionId }
      unwrap(await answer(client.POST('/api/v1/bookmarks/{id}/restore', { params: { path: { id } }, body })))
      await pullResult(() => sync.syncNow())
    },

    async trash({ after, signal } = {}) {
      const params = { query: after === undefined ? {} : { after } }
      const page = await answer(client.GET('/api/v1/trash', { params, signal: signal ?? null }))
      const { bookmarks, next } = unwrap(page)
      return { bookmarks: await openDeleted(keys, bookmarks), next }
    },

    async purge(id) {
      await sync.syncNow()
      unwrap(await answer(client.DELETE('/api/v1/trash/{id}', { params: { path: { id } } })))
    },

    rewind: (request) => rewind(client, sync, request),

    async serverConflicts({ after, signal } = {}) {
      const params = { query: after === undefined ? {} : { after } }
      const page = await answer(client.GET('/api/v1/sync/conflicts', { params, signal: signal ?? null }))
      const { conflicts, next } = unwrap(page)
      return { conflicts: await openVersions(keys, conflicts), next }
    },

    async settleConflict(versionId) {
      unwrap(await answer(client.DELETE('/api/v1/sync/conflicts/{id}', { params: { path: { id: versionId } } })))
    },
  }
}

/** The service keeps at most 50 versions per bookmark, not always the newest. */
const mostVersions = 50

/** Leaves out versions of other entity types. */
async function openVersions(keys: Keys, versions: Schemas['Version'][]): Promise<BookmarkVersion[]> {
  const own = versions.filter(({ entity_type }) => entity_type === 'bookmark')
  return Promise.all(own.map((version) => openVersion(keys, version)))
}

async function openVersion(keys: Keys, version: Schemas['Version']): Promise<BookmarkVersion> {
  const { entity_id: id, encrypted_data = '', data_hash = '', operation, timestamp, began, ended, reason } = version
  const isDelete = operation === 'delete'
  return {
    versionId: version.version_id,
    ...{ id, operation, timestamp, began, ended, reason },
    deviceId: version.device_id,
    settledAt: version.settled_at,
    erasedAt: version.erased_at,
    ...(isDelete ? { bookmark: null, error: null } : await openRecord(keys, { id, encrypted_data, data_hash })),
  }
}

async function openDeleted(keys: Keys, bookmarks: Schemas['DeletedBookmark'][]): Promise<DeletedBookmark[]> {
  return Promise.all(
    bookmarks.map(async ({ id, encrypted_data, data_hash, deleted_at: deletedAt, erased_at: erasedAt }) => ({
      ...{ id, deletedAt, erasedAt },
      ...(await openRecord(keys, { id, encrypted_data, data_hash })),
    })),
  )
}

async function openRecord(keys: Keys, record: StoredRecord): Promise<Opened> {
  // Signing out has erased the keys meanwhile: this is not the record's fault.
  if (areErased(keys)) throw new SignedOutError()
  try {
    return { bookmark: await decryptBookmarkAside(keys, record), error: null }
  } catch (error) {
    if (!(error instanceof RecordError)) throw error
    return { bookmark: null, error }
  }
}

type Named = Pick<BookmarkVersion, 'versionId' | 'bookmark'>

/** Decrypts the current version if its event id says that it re-encrypts one of the versions. */
async function openCurrent(
  { client, keys }: Pick<HistoryOptions, 'client' | 'keys'>,
  id: string,
  versions: readonly Schemas['Version'][],
  signal: AbortSignal | undefined,
): Promise<Named | undefined> {
  const versionId = versions.find(({ began }) => began !== null)?.replaced_by ?? ''
  if (!versions.some(({ version_id }) => isReencrypted(versionId, version_id))) return undefined
  const params = { path: { id } }
  const found = await answer(client.GET('/api/v1/bookmarks/{id}', { params, signal: signal ?? null }))
  if (found.response.status === 404) return undefined
  const { encrypted_data, data_hash } = unwrap(found)
  return { versionId, ...(await openRecord(keys, { id, encrypted_data, data_hash })) }
}

/**
 * Joins re-encrypted copies of the same edit, because a key rotation is not an edit. Returns the last remaining copy of
 * each, newest first, with the time and device of the edit. Leaves out copies of the current version. Later copies may be
 * gone: if a bookmark has too many versions, the service erases those that were current for the shortest time.
 */
function onceEach(versions: readonly BookmarkVersion[], current: Named | undefined): BookmarkVersion[] {
  const edits: { last: BookmarkVersion; first: BookmarkVersion }[] = []
  for (const version of versions) {
    if (current && isCopy(current, version)) continue
    const edit = edits.find(({ last }) => isCopy(last, version))
    if (edit) edit.first = version
    else edits.push({ last: version, first: version })
  }
  return edits.map(({ last, first }) => {
    const { operation, timestamp, deviceId, began } = first
    const isNamedOnce = versions.filter(({ versionId }) => versionId === last.versionId).length === 1
    // Any device can send the id that a rotation will use. If several versions have it, the service restores the first one.
    const { versionId } = isNamedOnce ? last : first
    return { ...last, versionId, operation, timestamp, deviceId, began }
  })
}

/** True if both decrypt to the same bookmark. Event ids alone prove nothing, because any client can choose them. */
function isCopy(later: Named, earlier: Named): boolean {
  if (!later.bookmark || !earlier.bookmark || !isReencrypted(later.versionId, earlier.versionId)) return false
  return differingFields(later.bookmark, earlier.bookmark).length === 0
}

async function rewind(
  client: Client,
  sync: Pick<Sync, 'syncNow' | 'heldDeletions' | 'approveDeletions'>,
  { to, dryRun, onProgress, signal }: RewindOptions,
): Promise<RewindCounts> {
  const options = signal ? { signal } : {}
  await sync.syncNow(options)
  const heldBefore = new Set(sync.heldDeletions().map(({ id }) => id))
  let counts: RewindCounts = { restored: 0, deleted: 0, unchanged: 0, beyondRetention: 0 }
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const body = { to, dry_run: dryRun, ...(cursor && { cursor }) }
    // Sent without the device id: otherwise an edit made here meanwhile would count as made after the rewind, and would
    // overwrite its result instead of being merged.
    const request = client.POST('/api/v1/sync/rewind', { body, middleware: [withoutDeviceId], ...options })
    const { restored, deleted, unchanged, beyond_retention, next } = unwrap(await answer(request))
    counts = {
      restored: counts.restored + restored,
      deleted: counts.deleted + deleted,
      unchanged: counts.unchanged + unchanged,
      beyondRetention: counts.beyondRetention + beyond_retention,
    }
    onProgress?.(counts)
    cursor = next
  }
  if (dryRun) return counts
  await pullResult(async () => {
    await sync.syncNow(options)
    const came = sync.heldDeletions().flatMap(({ id }) => (heldBefore.has(id) ? [] : id))
    // The user has not agreed to more deletes than the rewind made.
    if (came.length > 0 && came.length <= counts.deleted) await sync.approveDeletions(came)
  })
  return counts
}

/** Ignores a failure, because the service has done its part, and the sync pulls again later. */
async function pullResult(pull: () => Promise<void>): Promise<void> {
  await pull().catch(() => {})
}
