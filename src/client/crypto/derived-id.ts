import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { hmacSha256 } from './hashes.ts'
import type { Keys } from './keys.ts'

/** The fields by which devices that have not synced yet recognize the same bookmark. */
export interface Likeness {
  /** The folder above, by its `deriveId` with ordinal 0; '' at the top level; GitHub's API address for stars; or `history`. */
  place: string
  /** `browser`: a folder that the browser makes itself, such as its toolbar. `star`: a repository starred on GitHub. */
  kind: 'link' | 'folder' | 'browser' | 'separator' | 'star'
  /** A link's address, a folder's title, the role of the browser's folder, or the repository's number. */
  name: string
  /** Counts bookmarks that are equal in the other fields, from 0. */
  ordinal: number
}

/**
 * A UUID of version 8 (RFC 9562), the same on all devices that have the vault's keys. To everyone else it looks
 * random. It is derived from the vault's first key, which every device has, so rotations do not change it.
 */
export function deriveId(keys: Keys, { place, kind, name, ordinal }: Likeness): string {
  let first = keys
  while (first.older) first = first.older
  const fields = [place, kind, `${ordinal}`, kind === 'folder' ? name.normalize() : name].map(withLength)
  const hash = hmacSha256(first.idKey, concatBytes(...fields)).subarray(0, 16)
  hash[6] = ((hash[6] as number) & 0x0f) | 0x80
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80
  return bytesToHex(hash).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/**
 * The id of a history entry: the same on all devices, so that the visits of an address are one record. To everyone without the
 * keys it looks random.
 */
export function historyId(keys: Keys, url: string): string {
  return deriveId(keys, { place: 'history', kind: 'link', name: url, ordinal: 0 })
}

/** Derives ids, and checks whether they are in use. */
export interface IdSource {
  derive(likeness: Likeness): string
  isTaken(id: string): boolean
}

/** Gives each item the id with the first ordinal that is neither in use nor given to an earlier, equal item. */
export function idGiver({ derive, isTaken }: IdSource) {
  const ordinals = new Map<string, number>()
  return (likeness: Omit<Likeness, 'ordinal'>): string => {
    const first = derive({ ...likeness, ordinal: 0 })
    let ordinal = ordinals.get(first) ?? 0
    let id = first
    do id = ordinal === 0 ? first : derive({ ...likeness, ordinal })
    while (isTaken(id) && ++ordinal)
    ordinals.set(first, ordinal + 1)
    return id
  }
}

/** True for a UUID of version 8: from `deriveId`, or by the service for a bookmark created with an idempotency key. */
export function isDerivedId(id: string): boolean {
  return /^.{8}-.{4}-8.{3}-[89ab].{3}-.{12}$/.test(id)
}

/** The text in UTF-8, prefixed with its length. Lone surrogates become U+FFFD. */
function withLength(text: string): Uint8Array {
  const bytes = utf8ToBytes(text)
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, bytes.length)
  return concatBytes(length, bytes)
}
