import type { components } from '../../../generated/client.ts'
import type { PlaintextBookmark } from '../bookmark.ts'
import type { Keys } from '../crypto/keys.ts'
import { decryptBookmarkAside } from '../crypto/record/open.ts'
import { RecordError, SignedOutError } from '../errors.ts'

type Schemas = components['schemas']

/** What became of a version's content. */
interface Opened {
  /** Null if the version is a delete, or if it cannot be decrypted. */
  bookmark: PlaintextBookmark | null
  /** Why it cannot be decrypted. It can be restored nevertheless: perhaps another device can. */
  error: RecordError | null
}

/** A version of a bookmark that was replaced, or that lost when it arrived. */
export interface BookmarkVersion extends Opened {
  versionId: string
  /** The bookmark's id. */
  id: string
  operation: 'create' | 'update' | 'delete'
  /** When it was made, by the clock of the device that made it (Unix ms). */
  timestamp: number
  deviceId: string
  /** The service's time at which it became current (Unix ms); null if it never did. */
  began: number | null
  /** The service's time at which it was replaced, or lost (Unix ms). */
  ended: number
  /**
   * - `superseded`: whoever replaced it had seen it, or is the same device
   * - `overwritten`: whoever replaced it had not seen it
   * - `rejected`: it lost when it arrived
   */
  reason: 'superseded' | 'overwritten' | 'rejected'
  /** When its conflict was settled (Unix ms); null if it is open, or if there was none. */
  settledAt: number | null
  /** When the service erases it (Unix ms), unless it needs the room before. */
  erasedAt: number
}

/** A deleted bookmark that can be restored. */
export interface DeletedBookmark extends Opened {
  id: string
  /** By the clock of the device that deleted it (Unix ms). */
  deletedAt: number
  /** When the service erases it (Unix ms), unless it needs the room before. */
  erasedAt: number
}

/** Entities of other kinds belong to other clients. */
export async function openVersions(keys: Keys, versions: Schemas['Version'][]): Promise<BookmarkVersion[]> {
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

export async function openDeleted(keys: Keys, bookmarks: Schemas['DeletedBookmark'][]): Promise<DeletedBookmark[]> {
  return Promise.all(
    bookmarks.map(async ({ id, encrypted_data, data_hash, deleted_at: deletedAt, erased_at: erasedAt }) => ({
      ...{ id, deletedAt, erasedAt },
      ...(await openRecord(keys, { id, encrypted_data, data_hash })),
    })),
  )
}

async function openRecord(
  keys: Keys,
  record: { id: string; encrypted_data: string; data_hash: string },
): Promise<Opened> {
  // The user has signed out since the call was sent: nothing is wrong with the record.
  if (keys.recordKey.every((byte) => byte === 0)) throw new SignedOutError()
  try {
    return { bookmark: await decryptBookmarkAside(keys, record), error: null }
  } catch (error) {
    if (!(error instanceof RecordError)) throw error
    return { bookmark: null, error }
  }
}
