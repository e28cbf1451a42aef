import type { EntityType } from '../../bookmark.ts'
import { RecordError } from '../../errors/local.ts'
import { idForm, isId } from '../../ids.ts'
import { binaryToBytes } from '../base64/binary.ts'

/** The two fields that the service stores for a bookmark. */
export interface SealedRecord {
  /**
   * base64(prefix || 24-byte nonce || XChaCha20-Poly1305 ciphertext and tag), at most 262,144 characters. The prefix is 1
   * under a vault's first master key, else 2 and the master key's id (8 bytes).
   */
  encrypted_data: string
  /** Lower-case hex SHA-256 of the plaintext (salt and padded JSON). */
  data_hash: string
}

/**
 * A sealed record and the id it is stored under. The service's bookmark records have this shape; for a sync event, pass
 * `entity_id` as `id`.
 */
export interface StoredRecord extends SealedRecord {
  id: string
}

export const SALT_BYTES = 32

/** The associated data. @throws RecordError `invalid-id` */
export function bindTo(entityType: EntityType, id: string): Uint8Array {
  if (!isId(id)) {
    throw new RecordError('invalid-id', `Id ${JSON.stringify(id)} is not ${idForm}`)
  }
  // Ids are ASCII; an encoder would take many times as long.
  return binaryToBytes(`ebs/1\0${entityType}\0${id}`)
}
