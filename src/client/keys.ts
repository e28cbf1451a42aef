import { abytes } from '@noble/hashes/utils.js'
import { hkdfSha256 } from './hkdf.ts'

/** The three subkeys of a master key, 32 bytes each. None of them reveals the master key or another subkey. */
export interface Keys {
  /** Encrypts records (XChaCha20-Poly1305). */
  readonly recordKey: Uint8Array
  /** Computes a record's salt (HMAC-SHA-256), so that `data_hash` cannot confirm a guess. */
  readonly hashKey: Uint8Array
  /** Decrypts export files; register it with the service as the user's export key. */
  readonly exportKey: Uint8Array
}

/**
 * Derives the subkeys with HKDF-SHA256 (RFC 5869) without salt, and the infos `ebs/record/1`, `ebs/hash/1` and
 * `ebs/export/1`.
 *
 * @param masterKey 32 bytes, from `createKeyring` or `openKeyring`
 */
export function deriveKeys(masterKey: Uint8Array): Keys {
  abytes(masterKey, 32, 'masterKey')
  return {
    recordKey: hkdfSha256(masterKey, 'ebs/record/1'),
    hashKey: hkdfSha256(masterKey, 'ebs/hash/1'),
    exportKey: hkdfSha256(masterKey, 'ebs/export/1'),
  }
}
