/** Encrypts and decrypts many records. The platform computes the hashes, in browsers off the main thread. */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { EntityType, PlaintextBookmark } from '../bookmark.ts'
import { RecordError } from '../errors.ts'
import { NONCE_BYTES, TAG_BYTES } from './aead.ts'
import { hmacSha256 } from './hashes.ts'
import type { Keys } from './keys.ts'
import { nodeCrypto } from './node-crypto.ts'
import {
  bindTo,
  encrypt,
  openRecord,
  PADDING,
  readBookmark,
  SALT_BYTES,
  type SealedRecord,
  type StoredRecord,
  unsalted,
} from './record.ts'

type Bytes = Uint8Array<ArrayBuffer>

/**
 * Like `sealJson` for a list of ids and JSON: at most 2,730, because `getRandomValues` returns at most 65,536 bytes, and each
 * nonce has 24. All records get the same keys, even if these are replaced meanwhile. One that cannot be encrypted gets its error.
 */
export async function recordSealer({ ...keys }: Keys, entityType: EntityType = 'bookmark') {
  const saltOf = await hmacAside(keys.hashKey)
  return async (list: readonly (readonly [id: string, json: string])[]): Promise<(SealedRecord | RecordError)[]> => {
    const results: (SealedRecord | RecordError)[] = []
    const records = list.flatMap(([id, json], index) => {
      try {
        return { index, associatedData: bindTo(entityType, id), plaintext: unsalted(id, json) }
      } catch (error) {
        if (!(error instanceof RecordError)) throw error
        results[index] = error
        return []
      }
    })
    const salts = await Promise.all(records.map(({ plaintext }) => saltOf(plaintext.subarray(SALT_BYTES))))
    const nonces = crypto.getRandomValues(new Uint8Array(NONCE_BYTES * records.length))
    const hashes = records.map(({ index, associatedData, plaintext }, place) => {
      plaintext.set(new Uint8Array(salts[place] as ArrayBuffer))
      const hash = sha256Aside(plaintext)
      const nonce = nonces.subarray(NONCE_BYTES * place, NONCE_BYTES * (place + 1))
      results[index] = { encrypted_data: encrypt(keys, associatedData, plaintext, nonce), data_hash: '' }
      return hash
    })
    for (const [place, hash] of (await Promise.all(hashes)).entries()) {
      const record = results[records[place]?.index as number] as SealedRecord
      record.data_hash = bytesToHex(new Uint8Array(hash))
    }
    return results
  }
}

/** Like `decryptBookmark`, with the platform's hashes. */
export async function decryptBookmarkAside(
  keys: Keys,
  record: StoredRecord,
  entityType: EntityType = 'bookmark',
): Promise<PlaintextBookmark> {
  const plaintext = openRecord(keys, record, entityType)
  return readBookmark(record, plaintext, new Uint8Array(await sha256Aside(plaintext)))
}

/** The length of the bookmark's `encrypted_data` under the vault's first key. Under later keys, it is 12 longer at most. */
export function sealedLength(bookmark: PlaintextBookmark): number {
  const { length } = new TextEncoder().encode(JSON.stringify(bookmark))
  const bytes = 1 + NONCE_BYTES + SALT_BYTES + Math.ceil(length / PADDING) * PADDING + TAG_BYTES
  return Math.ceil(bytes / 3) * 4
}

/**
 * SHA-256 (FIPS 180-4) by the platform, in less than half of the library's time: synchronously in Node, in parallel in
 * browsers. Pages loaded over plain HTTP use the library.
 */
function sha256Aside(bytes: Bytes): Uint8Array | Promise<ArrayBuffer> {
  if (nodeCrypto) return nodeCrypto.hash('sha256', bytes, 'buffer')
  return crypto.subtle ? crypto.subtle.digest('SHA-256', bytes) : sha256(bytes)
}

/** HMAC-SHA-256 under this key, for many messages: by the platform, as `sha256Aside`. */
async function hmacAside(key: Uint8Array): Promise<(bytes: Bytes) => Bytes | Promise<ArrayBuffer>> {
  const node = nodeCrypto
  if (node) return (bytes) => node.createHmac('sha256', key).update(bytes).digest()
  if (!crypto.subtle) return (bytes) => hmacSha256(key, bytes) as Bytes
  const hmacKey = await crypto.subtle.importKey('raw', key as Bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return (bytes) => crypto.subtle.sign('HMAC', hmacKey, bytes)
}
