import { bytesToHex } from '@noble/hashes/utils.js'
import type { EntityType, PlaintextBookmark } from '../../bookmark.ts'
import { RecordError } from '../../errors/local.ts'
import { NONCE_BYTES, TAG_BYTES } from '../aead/form.ts'
import { open } from '../aead.ts'
import { base64ToBytes } from '../base64/decode.ts'
import type { Keys } from '../keys.ts'
import { sha256Aside } from '../sha256.ts'
import { bindTo, SALT_BYTES, type StoredRecord } from './form.ts'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Like `decryptBookmark`, but faster for many records: the platform computes the hash, in browsers in parallel. */
export async function decryptBookmarkAside(
  keys: Keys,
  record: StoredRecord,
  entityType: EntityType = 'bookmark',
): Promise<PlaintextBookmark> {
  const plaintext = openRecord(keys, record, entityType)
  return readBookmark(record, plaintext, new Uint8Array(await sha256Aside(plaintext)))
}

/** The plaintext: salt and padded JSON. */
export function openRecord(keys: Keys, record: StoredRecord, entityType: EntityType): Uint8Array<ArrayBuffer> {
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
  const start = key.prefix.length
  // A copy, because the cipher needs aligned words.
  const nonce = bytes.slice(start, start + NONCE_BYTES)
  const sealed = bytes.subarray(start + NONCE_BYTES)
  if (sealed.length < SALT_BYTES + TAG_BYTES) throw new RecordError('malformed', `Record ${id} is too short`)
  return { key, nonce, sealed }
}

/** The keys that a record names by its first bytes. */
export function keyOf(keys: Keys | undefined, bytes: Uint8Array): Keys | undefined {
  return keys && !keys.prefix.every((byte, index) => byte === bytes[index]) ? keyOf(keys.older, bytes) : keys
}

/** @param hash of the plaintext */
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
  return bookmark as PlaintextBookmark
}

function parseJson(json: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(json))
  } catch {
    return undefined
  }
}
