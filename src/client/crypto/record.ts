import { sha256 } from '@noble/hashes/sha2.js'
import type { EntityType, PlaintextBookmark } from '../bookmark.ts'
import type { Keys } from './keys.ts'
import type { SealedRecord, StoredRecord } from './record/form.ts'
import { openRecord, readBookmark } from './record/open.ts'
import { sealRecord } from './record/seal.ts'

// The sync uses `record/` instead: esbuild would put what this module needs into the first file of every app, because the
// package's main entry point names its functions, and a file that loads later used them.
export type { SealedRecord, StoredRecord } from './record/form.ts'

/**
 * Seals a bookmark for the service.
 *
 * The plaintext is salt || JSON, where the JSON (UTF-8, keys sorted) is padded with spaces to a multiple of 256 bytes
 * and the salt is the HMAC-SHA-256 (RFC 2104) of that padded JSON under the hash key. It is encrypted with
 * XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) under a random nonce, with `ebs/1` NUL entity type NUL id as
 * associated data, and the newest key is named in front (`Keys.prefix`). So equal bookmarks have the same `data_hash` on all of a user's devices, while `encrypted_data` differs
 * each time.
 *
 * @param bookmark its `id` is the id under which the record must be stored
 * @throws RecordError `invalid-id`, `too-large`
 * @throws TypeError `signOut` has erased the keys
 */
export function encryptBookmark(
  keys: Keys,
  bookmark: PlaintextBookmark,
  entityType: EntityType = 'bookmark',
): SealedRecord {
  return sealRecord(keys, bookmark, entityType)
}

/**
 * Decrypts a record that the service returned, and checks that it is the one that was stored under this id.
 *
 * @throws RecordError `malformed`, `unknown-version`, `unknown-key`, `altered` (altered ciphertext, another key, another id or another
 *   entity type), `altered-hash`, `other-id`, `invalid-id`
 */
export function decryptBookmark(
  keys: Keys,
  record: StoredRecord,
  entityType: EntityType = 'bookmark',
): PlaintextBookmark {
  const plaintext = openRecord(keys, record, entityType)
  return readBookmark(record, plaintext, sha256(plaintext))
}
