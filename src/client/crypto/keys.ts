import { abytes } from '@noble/hashes/utils.js'
import { bytesToBase64 } from './base64.ts'
import { hkdfSha256 } from './hashes.ts'

/** The five subkeys of the newest master key, 32 bytes each. None of them reveals the master key or another subkey. */
export interface Keys {
  /** Encrypts records (XChaCha20-Poly1305). */
  readonly recordKey: Uint8Array
  /** Computes a record's salt (HMAC-SHA-256), so that nobody can confirm a guessed plaintext by its `data_hash`. */
  readonly hashKey: Uint8Array
  /** Encrypts export files. Register it with the service, which writes them, as the user's export key. */
  readonly exportKey: Uint8Array
  /** Authenticates the vault's keyring (HMAC-SHA-256), so that a device recognizes a keyring made with its keys. */
  readonly keyringKey: Uint8Array
  /** Derives ids of bookmarks that several devices may add (HMAC-SHA-256). `deriveId` uses the one of the vault's first key. */
  readonly idKey: Uint8Array
  /** The first bytes of records under these keys: 1 under the vault's first master key, else 2 and the key's id (8 bytes). */
  readonly prefix: Uint8Array
  /** The keys before the last rotation. They open older records; nothing is encrypted under them any more. */
  readonly older?: Keys
}

/**
 * Derives the subkeys with HKDF-SHA256 (RFC 5869) without salt, and the infos `ebs/record/1`, `ebs/hash/1`,
 * `ebs/export/1`, `ebs/keyring/1` and `ebs/id/1`. The id of a master key is the first 8 bytes with the info `ebs/key-id/1`.
 *
 * @param masterKey 32 bytes, from `createKeyring` or `openKeyring`; after rotations all master keys, the newest first
 */
export function deriveKeys(masterKey: Uint8Array): Keys {
  abytes(masterKey, (masterKey.length >> 5 || 1) << 5, 'masterKey')
  const newest = masterKey.subarray(0, 32)
  return {
    recordKey: hkdfSha256(newest, 'ebs/record/1'),
    hashKey: hkdfSha256(newest, 'ebs/hash/1'),
    exportKey: hkdfSha256(newest, 'ebs/export/1'),
    keyringKey: hkdfSha256(newest, 'ebs/keyring/1'),
    idKey: hkdfSha256(newest, 'ebs/id/1'),
    ...(masterKey.length > 32
      ? { prefix: Uint8Array.of(2, ...keyIdOf(newest)), older: deriveKeys(masterKey.subarray(32)) }
      : { prefix: Uint8Array.of(1) }),
  }
}

/** @param masterKey 32 bytes */
export function keyIdOf(masterKey: Uint8Array): Uint8Array {
  return hkdfSha256(masterKey, 'ebs/key-id/1').subarray(0, 8)
}

/** The keys whose prefix a record begins with; undefined if there are none. */
export function keyOf(keys: Keys | undefined, bytes: Uint8Array): Keys | undefined {
  return keys && !keys.prefix.every((byte, index) => byte === bytes[index]) ? keyOf(keys.older, bytes) : keys
}

/** True if `id`, a key's id in base64, is given and none of these keys has it. */
export function lacksKey(keys: Keys | undefined, id: string | undefined): boolean {
  if (!keys || id === undefined) return id !== undefined
  return bytesToBase64(keys.prefix.subarray(1)) !== id && lacksKey(keys.older, id)
}

/** True once `signOut` has erased the keys. */
export function areErased({ recordKey }: Keys): boolean {
  return recordKey.every((byte) => byte === 0)
}

/** Overwrites the keys in memory, the older ones too. */
export function eraseKeys(keys: Keys): void {
  for (let all: Keys | undefined = keys; all; all = all.older) {
    for (const key of [all.recordKey, all.hashKey, all.exportKey, all.keyringKey, all.idKey]) key.fill(0)
  }
}
