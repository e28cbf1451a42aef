import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'

/** HKDF-SHA256 (RFC 5869) without salt: 32 bytes, which is one block of its second step. */
export function hkdfSha256(secret: Uint8Array, info: string): Uint8Array {
  const pseudorandomKey = hmac(sha256, new Uint8Array(32), secret)
  return hmac(sha256, pseudorandomKey, utf8ToBytes(`${info}\u0001`))
}
