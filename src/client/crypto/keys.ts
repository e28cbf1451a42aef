import { derive, type Keys } from './derive.ts'

// Other parts of the package use `keys/derive.ts` instead, as they use `record/` instead of `record.ts`.
export type { Keys } from './derive.ts'

/**
 * Derives the subkeys with HKDF-SHA256 (RFC 5869) without salt, and the infos `ebs/record/1`, `ebs/hash/1` and
 * `ebs/export/1`. The id of a master key is the first 8 bytes with the info `ebs/key-id/1`.
 *
 * @param masterKey 32 bytes, from `createKeyring` or `openKeyring`; after rotations all master keys, the newest first
 */
export function deriveKeys(masterKey: Uint8Array): Keys {
  return derive(masterKey)
}
