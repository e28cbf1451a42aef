import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import * as limits from '../../generated/limits.ts'
import { idForm, isId } from '../protocol/ids.ts'
import { NONCE_BYTES, open, seal, TAG_BYTES } from './aead.ts'
import { base64ToBytes, binaryToBytes, bytesToBase64 } from './base64.ts'
import type { EntityType, PlaintextBookmark } from './bookmark.ts'
import { RecordError } from './errors.ts'
import type { Keys } from './keys.ts'
import { sha256Aside } from './sha256.ts'

/** The two fields that the service stores for a bookmark. */
export interface SealedRecord {
  /** base64(version 1 || 24-byte nonce || XChaCha20-Poly1305 ciphertext and tag), at most 262,144 characters. */
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

const VERSION = 1
const SALT_BYTES = 32
const PADDING = 256
/** The longest padded JSON whose record still fits: 196,352 bytes. */
const MAX_JSON =
  Math.floor(((limits.EncryptedData.maxLength / 4) * 3 - 1 - NONCE_BYTES - TAG_BYTES - SALT_BYTES) / PADDING) * PADDING
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Seals a bookmark for the service.
 *
 * The plaintext is salt || JSON, where the JSON (UTF-8, keys sorted) is padded with spaces to a multiple of 256 bytes
 * and the salt is the HMAC-SHA-256 (RFC 2104) of that padded JSON under the hash key. It is encrypted with
 * XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) under a random nonce, with `ebs/1` NUL entity type NUL id as
 * associated data. So equal bookmarks have the same `data_hash` on all of a user's devices, while `encrypted_data` differs
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
  assertNotErased(keys)
  const associatedData = bindTo(entityType, bookmark.id)
  const json = paddedJson(bookmark)
  const plaintext = concatBytes(hmac(sha256, keys.hashKey, json), json)
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES))
  const sealed = seal(keys.recordKey, nonce, associatedData, plaintext)
  return {
    encrypted_data: bytesToBase64(concatBytes(Uint8Array.of(VERSION), nonce, sealed)),
    data_hash: bytesToHex(sha256(plaintext)),
  }
}

/** The length of `encrypted_data` once the bookmark is sealed. */
export function sealedLength(bookmark: PlaintextBookmark): number {
  const { length } = utf8ToBytes(JSON.stringify(bookmark))
  const bytes = 1 + NONCE_BYTES + SALT_BYTES + Math.ceil(length / PADDING) * PADDING + TAG_BYTES
  return Math.ceil(bytes / 3) * 4
}

/**
 * Decrypts a record that the service returned, and checks that it is the one that was stored under this id.
 *
 * @throws RecordError `malformed`, `unknown-version`, `altered` (altered ciphertext, another key, another id or another
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

/** Like `decryptBookmark`, but faster for many records: the platform computes the hash, in browsers in parallel. */
export async function decryptBookmarkAside(
  keys: Keys,
  record: StoredRecord,
  entityType: EntityType = 'bookmark',
): Promise<PlaintextBookmark> {
  const plaintext = openRecord(keys, record, entityType)
  return readBookmark(record, plaintext, new Uint8Array(await sha256Aside(plaintext)))
}

function openRecord(keys: Keys, record: StoredRecord, entityType: EntityType): Uint8Array<ArrayBuffer> {
  const associatedData = bindTo(entityType, record.id)
  const { nonce, sealed } = parseEnvelope(record)
  const plaintext = open(keys.recordKey, nonce, associatedData, sealed)
  if (plaintext === undefined) {
    const reasons = 'it was altered, belongs to another id or entity type, or was encrypted under another key'
    throw new RecordError('altered', `Record ${record.id} cannot be decrypted as ${entityType}: ${reasons}`)
  }
  return plaintext
}

/** A record under a key of zeros could be read by anybody. */
function assertNotErased({ recordKey }: Keys): void {
  if (recordKey.every((byte) => byte === 0)) throw new TypeError('The keys were erased when the user signed out')
}

function bindTo(entityType: EntityType, id: string): Uint8Array {
  if (!isId(id)) {
    throw new RecordError('invalid-id', `Id ${JSON.stringify(id)} is not ${idForm}`)
  }
  return binaryToBytes(`ebs/1\0${entityType}\0${id}`)
}

function paddedJson(bookmark: PlaintextBookmark): Uint8Array {
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
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function parseEnvelope({ id, encrypted_data }: StoredRecord): { nonce: Uint8Array; sealed: Uint8Array } {
  const bytes = base64ToBytes(encrypted_data)
  if (bytes === undefined) throw new RecordError('malformed', `Record ${id} has encrypted_data that is not base64`)
  if (bytes.length > 0 && bytes[0] !== VERSION) {
    throw new RecordError('unknown-version', `Record ${id} has version ${bytes[0]}, which this client does not know`)
  }
  // A copy, because the cipher needs aligned words.
  const nonce = bytes.slice(1, 1 + NONCE_BYTES)
  const sealed = bytes.subarray(1 + NONCE_BYTES)
  if (sealed.length < SALT_BYTES + TAG_BYTES) throw new RecordError('malformed', `Record ${id} is too short`)
  return { nonce, sealed }
}

function readBookmark({ id, data_hash }: StoredRecord, plaintext: Uint8Array, hash: Uint8Array): PlaintextBookmark {
  if (bytesToHex(hash) !== data_hash) {
    throw new RecordError('altered-hash', `Record ${id} has a data_hash that is not the hash of its content`)
  }
  const bookmark = parseJson(plaintext.subarray(SALT_BYTES))
  if (typeof bookmark !== 'object' || bookmark === null || !('id' in bookmark)) {
    throw new RecordError('malformed', `Record ${id} does not contain a bookmark`)
  }
  if (bookmark.id !== id) throw new RecordError('other-id', `Record ${id} contains a bookmark with another id`)
  return bookmark as PlaintextBookmark
}

function parseJson(json: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(json))
  } catch {
    return undefined
  }
}
