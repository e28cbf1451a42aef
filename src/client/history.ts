/** `encrypted-bookmark-sync-client/history`: earlier versions, the trash, conflicts of all devices, going back in time. */
import type { components } from '../../generated/client.ts'
import type { Client } from './api/client.ts'
import { unwrap } from './api/unwrap.ts'
import type { Keys } from './crypto/keys.ts'
import { onceEach } from './history/once-each.ts'
import { type BookmarkVersion, type DeletedBookmark, openDeleted, openVersions } from './history/open.ts'
import { pullResult } from './history/pull-result.ts'
import { type RewindCounts, type RewindOptions, rewind } from './history/rewind.ts'
import { demandOwner } from './owner.ts'
import { answer } from './sync/exchange/transport.ts'
import type { Sync } from './sync/sync.ts'

export type { BookmarkVersion, DeletedBookmark } from './history/open.ts'
export type { RewindCounts, RewindOptions } from './history/rewind.ts'

/** What `createHistory` needs: the parts of a sync. */
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

/** Which page of a list. */
export interface PageOptions {
  /** The `next` of the page before. Default: the first page. */
  after?: string | undefined
  signal?: AbortSignal | undefined
}

/**
 * What the service keeps of a user's bookmarks besides their current state. It keeps it for a while (30 days, unless its
 * operator has set another number) and decrypts nothing: a version that these keys cannot open is listed with its `error`.
 *
 * Everything needs the network. All methods reject with OfflineError, SignedOutError (also if another user is signed in;
 * nothing was changed), ApiError, or the signal's reason.
 *
 * `restoreVersion`, `purge` and `rewind` first send what waits on this device, so they act on it, too. They are changes that
 * win on the service, and reach each device as other changes do: what still waits there is merged with them by field. They
 * resolve once this device shows the result, or, if the connection is lost after the service has done it, without that; the
 * next sync brings it.
 */
export interface History {
  /**
   * A bookmark's earlier versions, live or deleted, newest first: those that were replaced, and those that lost when they
   * arrived. The current one is what `sync.get` returns. What a rotation of the keys encrypted anew is one version. Empty if the service does not know the bookmark.
   */
  history(id: string, options?: { signal?: AbortSignal | undefined }): Promise<BookmarkVersion[]>
  /**
   * Makes a version's content current again, and settles a conflict about it. Without `versionId`: what a deleted bookmark
   * was before it was deleted, or what a live one was before it became what it is.
   *
   * @throws ApiError 404: the bookmark or its version is not kept any more
   */
  restoreVersion(id: string, versionId?: string): Promise<void>
  /** Deleted bookmarks that can be restored, the last deleted first; `next` is null on the last page. */
  trash(options?: PageOptions): Promise<{ bookmarks: DeletedBookmark[]; next: string | null }>
  /**
   * Erases a deleted bookmark and all its versions from the service for good. Succeeds again if nothing is left.
   *
   * @throws ApiError 404: the bookmark is not deleted
   */
  purge(id: string): Promise<void>
  /**
   * Makes all bookmarks what they were at a time. With `dryRun`, only counts what that would change.
   *
   * If it is interrupted, what is done stays done; call it again with the same `to` to go on. Nothing is lost by it: a
   * rewind to the moment before it brings everything back. Deletes that it makes are applied on this device without asking,
   * but other devices may hold them until their user approves (`heldDeletions`).
   */
  rewind(options: RewindOptions): Promise<RewindCounts>
  /**
   * Versions that lost to one that had not seen them, on any device, and that nobody has settled; newest first. A conflict
   * leaves the list by itself once the device that lost has pulled the winner: it then has it among its `conflicts`.
   */
  serverConflicts(options?: PageOptions): Promise<{ conflicts: BookmarkVersion[]; next: string | null }>
  /**
   * Takes a conflict off the list on all devices, and leaves the bookmark as it is. To put the version back instead, call
   * `restoreVersion`.
   *
   * @throws ApiError 404: it is not on the list any more
   */
  settleConflict(versionId: string): Promise<void>
}

/** Opens the history of the bookmarks that `sync` keeps on this device. Sends nothing until a method is called. */
export function createHistory(options: HistoryOptions): History {
  const { client, keys, sync } = options
  return {
    async history(id, { signal } = {}) {
      await demandOwner(options, signal)
      const kept: components['schemas']['Version'][] = []
      for (let after: string | null | undefined, pages = 0; after !== null && pages < mostVersions; pages++) {
        const params = { path: { id }, query: { limit: mostVersions, ...(after && { after }) } }
        const page = await answer(client.GET('/api/v1/bookmarks/{id}/versions', { params, ...(signal && { signal }) }))
        if (page.response.status === 404) return []
        const { versions, next } = unwrap(page)
        kept.push(...versions)
        after = next
      }
      // Another bookmark's version is not to open as one of this.
      return openVersions(
        keys,
        onceEach(kept).map((version) => ({ ...version, entity_id: id })),
      )
    },

    async restoreVersion(id, versionId) {
      await sync.syncNow()
      const body = versionId === undefined ? {} : { version_id: versionId }
      unwrap(await answer(client.POST('/api/v1/bookmarks/{id}/restore', { params: { path: { id } }, body })))
      await pullResult(() => sync.syncNow())
    },

    async trash({ after, signal } = {}) {
      await demandOwner(options, signal)
      const params = { query: after === undefined ? {} : { after } }
      const { bookmarks, next } = unwrap(
        await answer(client.GET('/api/v1/trash', { params, ...(signal && { signal }) })),
      )
      return { bookmarks: await openDeleted(keys, bookmarks), next }
    },

    async purge(id) {
      await sync.syncNow()
      unwrap(await answer(client.DELETE('/api/v1/trash/{id}', { params: { path: { id } } })))
    },

    rewind: (request) => rewind(client, sync, request),

    async serverConflicts({ after, signal } = {}) {
      await demandOwner(options, signal)
      const params = { query: after === undefined ? {} : { after } }
      const { conflicts, next } = unwrap(
        await answer(client.GET('/api/v1/sync/conflicts', { params, ...(signal && { signal }) })),
      )
      return { conflicts: await openVersions(keys, conflicts), next }
    },

    async settleConflict(versionId) {
      await demandOwner(options)
      unwrap(await answer(client.DELETE('/api/v1/sync/conflicts/{id}', { params: { path: { id: versionId } } })))
    },
  }
}

/** The service keeps at most 50 of a bookmark. */
const mostVersions = 50
