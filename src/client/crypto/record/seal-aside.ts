import { bytesToHex } from '@noble/hashes/utils.js'
import type { EntityType } from '../../bookmark.ts'
import { RecordError } from '../../errors/local.ts'
import { NONCE_BYTES } from '../aead/form.ts'
import { hmacAside } from '../hmac.ts'
import type { Keys } from '../keys.ts'
import { sha256Aside } from '../sha256.ts'
import { bindTo, SALT_BYTES, type SealedRecord } from './form.ts'
import { encrypt, unsalted } from './seal.ts'

/**
 * Like `sealRecord`, but faster for many records (at most 2,000), each given as its id and its JSON: the platform computes
 * the hashes, and is asked once for all nonces. All are sealed under the same keys, even if these are replaced meanwhile.
 * What cannot be sealed yields its error.
 */
export async function recordSealer({ ...keys }: Keys, entityType: EntityType) {
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
