import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { hmacSha256 } from './hashes.ts'
import type { Keys } from './keys.ts'

/** What makes a bookmark the same on devices that have not synced yet. */
export interface Likeness {
  /** The id that `deriveId` gives the first folder of this path; empty at the top level. */
  place: string
  kind: 'link' | 'folder' | 'separator'
  /** A link's address or a folder's title. */
  name: string
  /** Counts equal ones from 0. */
  ordinal: number
}

/**
 * A UUID of version 8 (RFC 9562), the same on all devices that have the vault's keys. To everyone else it is random. Rotations
 * do not change it, because every device has the vault's first key, too.
 */
export function deriveId(keys: Keys, { place, kind, name, ordinal }: Likeness): string {
  let first = keys
  while (first.older) first = first.older
  const hash = hmacSha256(first.idKey, utf8ToBytes([place, kind, ordinal, name].join('\0'))).subarray(0, 16)
  hash[6] = ((hash[6] as number) & 0x0f) | 0x80
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80
  return bytesToHex(hash).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
