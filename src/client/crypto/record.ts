import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import * as limits from '../../../generated/limits.ts'
import { requireForm, withoutMalformed } from '../bookmark/form.ts'
import type { EntityType, PlaintextBookmark } from '../bookmark.ts'
import { RecordError } from '../errors.ts'
import { idForm, isId } from '../ids.ts'
import { NONCE_BYTES, open, seal, TAG_BYTES } from './aead.ts'
import { base64ToBytes, binaryToBytes, bytesToBase64 } from './base64.ts'
import { hmacSha256 } from './hashes.ts'
import { areErased, type Keys, keyOf } from './keys.ts'

/** The content of a bookmark as the service stores it. */
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
 * An encrypted record, with the id under which it is stored. The service's bookmark records have this shape; for a sync event, pass
 * `entity_id` as `id`.
 */
export interface StoredRecord extends SealedRecord {
  id: string
}

/** The kind of content, which is bound into the ciphertext together with an id. `device`: a device's name. */
export type SealedKind = EntityType | 'device'

export const SALT_BYTES = 32
export const PADDING = 256
/** The longest padded JSON whose record still fits: 196,352 bytes. */
const MAX_JSON =
  Math.floor(((limits.EncryptedData.maxLength / 4) * 3 - 9 - NONCE_BYTES - TAG_BYTES - SALT_BYTES) / PADDING) * PADDING

/**
 * Encrypts a bookmark for the service.
 *
 * The plaintext is salt || JSON, where the JSON (UTF-8, keys sorted) is padded with spaces to a multiple of 256 bytes
 * and the salt is the HMAC-SHA-256 (RFC 2104) of that padded JSON under the hash key. It is encrypted with
 * XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) under a random nonce, with `ebs/1` NUL entity type NUL id as
 * associated data. The newest key's `prefix` comes first. Equal bookmarks have the same `data_hash` on all of a user's
 * devices, while `encrypted_data` differs each time.
 *
 * @param bookmark its `id` is the id under which the record must be stored
 * @throws RecordError `invalid-id`, `too-large`; `malformed`: a field is not what the contract says
 * @throws TypeError `signOut` has erased the keys
 */
export function encryptBookmark(
  keys: Keys,
  bookmark: PlaintextBookmark,
  entityType: EntityType = 'bookmark',
): SealedRecord {
  requireForm(bookmark)
  return sealJson(keys, bookmark.id, toJson(bookmark), entityType)
}

/** Like `encryptBookmark`, for the JSON from `toJson`. */
export function sealJson(keys: Keys, id: string, json: string, entityType: SealedKind = 'bookmark'): SealedRecord {
  const associatedData = bindTo(entityType, id)
  const plaintext = unsalted(id, json)
  plaintext.set(hmacSha256(keys.hashKey, plaintext.subarray(SALT_BYTES)))
  return { encrypted_data: encrypt(keys, associatedData, plaintext), data_hash: bytesToHex(sha256(plaintext)) }
}

/** Canonical JSON, so that the same bookmark has the same data_hash on every device. */
export function toJson(bookmark: PlaintextBookmark): string {
  return JSON.stringify(bookmark, sortKeys)
}

function sortKeys(_key: string, value: unknown): unknown {
  if (!value || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The associated data. @throws RecordError `invalid-id` */
export function bindTo(entityType: SealedKind, id: string): Uint8Array {
  if (!isId(id)) {
    throw new RecordError('invalid-id', `Id ${JSON.stringify(id)} is not ${idForm}`)
  }
  // Ids are ASCII, so no encoder is needed, which would take many times as long.
  return binaryToBytes(`ebs/1\0${entityType}\0${id}`)
}

/**
 * The padded JSON, with space for the salt in front.
 *
 * @throws RecordError `too-large`
 */
export function unsalted(id: string, json: string): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder()
  // Most JSON is ASCII and fits with a byte per character.
  const plaintext = bufferFor(Math.min(json.length, MAX_JSON))
  const { read } = encoder.encodeInto(json, plaintext.subarray(SALT_BYTES))
  if (read === json.length) return plaintext
  const bytes = encoder.encode(json)
  if (bytes.length > MAX_JSON) {
    const sizes = `its JSON has ${bytes.length} bytes; the limit is ${MAX_JSON}`
    throw new RecordError('too-large', `Bookmark ${id} is too large: ${sizes}`)
  }
  const wider = bufferFor(bytes.length)
  wider.set(bytes, SALT_BYTES)
  return wider
}

/** A buffer for the salt and this many bytes of JSON, padded. */
function bufferFor(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(SALT_BYTES + Math.ceil(length / PADDING) * PADDING).fill(0x20)
}

/**
 * The record's `encrypted_data`.
 *
 * @param nonce random, and never used before
 * @throws TypeError `signOut` has erased the keys
 */
export function encrypt(
  keys: Keys,
  associatedData: Uint8Array,
  plaintext: Uint8Array,
  nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES)),
): string {
  // Erased keys are zeros: anybody could decrypt a record under them.
  if (areErased(keys)) throw new TypeError('The keys were erased when the user signed out')
  return bytesToBase64(seal(keys.recordKey, nonce, associatedData, plaintext, keys.prefix))
}

/**
 * Decrypts a record that the service returned, and checks that it was encrypted for this id and entity type. Leaves out
 * malformed fields.
 *
 * @throws RecordError `malformed`, `unknown-version`, `unknown-key`, `altered` (altered ciphertext, another key, another id
 *   or another entity type), `altered-hash`, `other-id`, `invalid-id`
 */
export function decryptBookmark(
  keys: Keys,
  record: StoredRecord,
  entityType: EntityType = 'bookmark',
): PlaintextBookmark {
  const plaintext = openRecord(keys, record, entityType)
  return readBookmark(record, plaintext, sha256(plaintext))
}

/** The plaintext: salt and padded JSON. */
export function openRecord(keys: Keys, record: StoredRecord, entityType: SealedKind): Uint8Array<ArrayBuffer> {
  const associatedData = bindTo(entityType, record.id)
  const { key, nonce, sealed } = parseEnvelope(keys, record)
  const plaintext = open(key.recordKey, nonce, associatedData, sealed)
  if (plaintext === undefined) {
    const reasons = 'it was altered, belongs to another id or entity type, or was encrypted under another key'
    throw new RecordError('altered', `Record ${record.id} cannot be decrypted as ${entityType}: ${reasons}`)
  }
  return plaintext
}

function parseEnvelope(keys: Keys, { id, encrypted_data }: StoredRecord) {
  const bytes = base64ToBytes(encrypted_data)
  if (!bytes?.length) throw new RecordError('malformed', `Record ${id} has encrypted_data that is not base64`)
  const key = keyOf(keys, bytes)
  if (!key) {
    const fault = bytes[0] === 2 ? 'unknown-key' : 'unknown-version'
    throw new RecordError(fault, `Record ${id} has an unknown key, or the unknown version ${bytes[0]}`)
  }
  const start = key.prefix.length + NONCE_BYTES
  const nonce = bytes.subarray(key.prefix.length, start)
  const sealed = bytes.subarray(start)
  if (sealed.length < SALT_BYTES + TAG_BYTES) throw new RecordError('malformed', `Record ${id} is too short`)
  return { key, nonce, sealed }
}

/** The bookmark without malformed fields. @param hash SHA-256 of the plaintext */
export function readBookmark(
  { id, data_hash }: StoredRecord,
  plaintext: Uint8Array,
  hash: Uint8Array,
): PlaintextBookmark {
  if (bytesToHex(hash) !== data_hash) {
    throw new RecordError('altered-hash', `Record ${id} has a data_hash that is not the hash of its content`)
  }
  const bookmark = parseJson(plaintext.subarray(SALT_BYTES))
  if (typeof bookmark !== 'object' || bookmark === null || !('id' in bookmark)) {
    throw new RecordError('malformed', `Record ${id} does not contain a bookmark`)
  }
  if (bookmark.id !== id) throw new RecordError('other-id', `Record ${id} contains a bookmark with another id`)
  return withoutMalformed(bookmark)
}

function parseJson(json: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(json))
  } catch {
    return undefined
  }
}
