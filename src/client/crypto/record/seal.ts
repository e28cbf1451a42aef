import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import * as limits from '../../../../generated/limits.ts'
import type { EntityType, PlaintextBookmark } from '../../bookmark.ts'
import { RecordError } from '../../errors/local.ts'
import { NONCE_BYTES, TAG_BYTES } from '../aead/form.ts'
import { seal } from '../aead/seal.ts'
import { bytesToBase64 } from '../base64/encode.ts'
import { hmacSha256 } from '../hkdf.ts'
import type { Keys } from '../keys.ts'
import { bindTo, SALT_BYTES, type SealedRecord } from './form.ts'

export const PADDING = 256
/** The longest padded JSON whose record still fits: 196,352 bytes. */
const MAX_JSON =
  Math.floor(((limits.EncryptedData.maxLength / 4) * 3 - 9 - NONCE_BYTES - TAG_BYTES - SALT_BYTES) / PADDING) * PADDING

const encoder = new TextEncoder()

/** As `encryptBookmark`. */
export function sealRecord(
  keys: Keys,
  bookmark: PlaintextBookmark,
  entityType: EntityType,
  json = toJson(bookmark),
): SealedRecord {
  const associatedData = bindTo(entityType, bookmark.id)
  const plaintext = unsalted(bookmark.id, json)
  plaintext.set(hmacSha256(keys.hashKey, plaintext.subarray(SALT_BYTES)))
  return { encrypted_data: encrypt(keys, associatedData, plaintext), data_hash: bytesToHex(sha256(plaintext)) }
}

/**
 * The record's `encrypted_data`.
 *
 * @param nonce random, and never used before
 * @throws TypeError `signOut` has erased the keys
 */
export function encrypt(
  { recordKey, prefix }: Keys,
  associatedData: Uint8Array,
  plaintext: Uint8Array,
  nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES)),
): string {
  // A record under a key of zeros could be read by anybody.
  if (recordKey.every((byte) => byte === 0)) throw new TypeError('The keys were erased when the user signed out')
  return bytesToBase64(seal(recordKey, nonce, associatedData, plaintext, prefix))
}

/**
 * The plaintext, whose first bytes are still to become the salt.
 *
 * @param json as `toJson` writes it
 * @throws RecordError `too-large`
 */
export function unsalted(id: string, json: string): Uint8Array<ArrayBuffer> {
  // Most JSON is ASCII, and fits where it has a byte for each character.
  const plaintext = roomFor(Math.min(json.length, MAX_JSON))
  const { read } = encoder.encodeInto(json, plaintext.subarray(SALT_BYTES))
  if (read === json.length) return plaintext
  const bytes = encoder.encode(json)
  if (bytes.length > MAX_JSON) {
    const sizes = `its JSON has ${bytes.length} bytes; the limit is ${MAX_JSON}`
    throw new RecordError('too-large', `Bookmark ${id} is too large: ${sizes}`)
  }
  const wider = roomFor(bytes.length)
  wider.set(bytes, SALT_BYTES)
  return wider
}

/** Room for the salt and for as many bytes of JSON, padded. */
function roomFor(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(SALT_BYTES + Math.ceil(length / PADDING) * PADDING).fill(0x20)
}

/** Two devices that build the same bookmark in different ways must get the same data_hash. */
export function toJson(bookmark: PlaintextBookmark): string {
  return JSON.stringify(bookmark, sortKeys)
}

function sortKeys(_key: string, value: unknown): unknown {
  if (!value || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
