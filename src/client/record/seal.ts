import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import * as limits from '../../../generated/limits.ts'
import { NONCE_BYTES, TAG_BYTES } from '../aead/form.ts'
import { seal } from '../aead/seal.ts'
import { bytesToBase64 } from '../base64/encode.ts'
import type { EntityType, PlaintextBookmark } from '../bookmark.ts'
import { RecordError } from '../errors/local.ts'
import { hmacSha256 } from '../hkdf.ts'
import type { Keys } from '../keys.ts'
import { bindTo, SALT_BYTES, type SealedRecord } from './form.ts'

const PADDING = 256
/** The longest padded JSON whose record still fits: 196,352 bytes. */
const MAX_JSON =
  Math.floor(((limits.EncryptedData.maxLength / 4) * 3 - 9 - NONCE_BYTES - TAG_BYTES - SALT_BYTES) / PADDING) * PADDING

/** As `encryptBookmark`. */
export function sealRecord(keys: Keys, bookmark: PlaintextBookmark, entityType: EntityType): SealedRecord {
  const associatedData = bindTo(entityType, bookmark.id)
  const json = paddedJson(bookmark)
  const plaintext = concatBytes(hmacSha256(keys.hashKey, json), json)
  return { encrypted_data: encrypt(keys, associatedData, plaintext), data_hash: bytesToHex(sha256(plaintext)) }
}

/** The record's `encrypted_data`. @throws TypeError `signOut` has erased the keys */
export function encrypt(keys: Keys, associatedData: Uint8Array, plaintext: Uint8Array): string {
  assertNotErased(keys)
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES))
  const sealed = seal(keys.recordKey, nonce, associatedData, plaintext)
  return bytesToBase64(concatBytes(keys.prefix, nonce, sealed))
}

/** The length of `encrypted_data` once the bookmark is sealed under the vault's first key; 12 more under later ones. */
export function sealedLength(bookmark: PlaintextBookmark): number {
  const { length } = utf8ToBytes(JSON.stringify(bookmark))
  const bytes = 1 + NONCE_BYTES + SALT_BYTES + Math.ceil(length / PADDING) * PADDING + TAG_BYTES
  return Math.ceil(bytes / 3) * 4
}

/** A record under a key of zeros could be read by anybody. */
function assertNotErased({ recordKey }: Keys): void {
  if (recordKey.every((byte) => byte === 0)) throw new TypeError('The keys were erased when the user signed out')
}

/** @throws RecordError `too-large` */
export function paddedJson(bookmark: PlaintextBookmark): Uint8Array<ArrayBuffer> {
  const json = utf8ToBytes(JSON.stringify(bookmark, sortKeys))
  const padded = new Uint8Array(Math.ceil(json.length / PADDING) * PADDING).fill(0x20)
  if (padded.length > MAX_JSON) {
    const sizes = `its JSON has ${json.length} bytes; the limit is ${MAX_JSON}`
    throw new RecordError('too-large', `Bookmark ${bookmark.id} is too large: ${sizes}`)
  }
  padded.set(json)
  return padded
}

// Two devices that build the same bookmark in different ways must get the same data_hash.
function sortKeys(_key: string, value: unknown): unknown {
  if (Object(value) !== value || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1)))
}
