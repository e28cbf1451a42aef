import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'

/** HMAC-SHA-256 (RFC 2104). */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  return hmac(sha256, key, message)
}

/** HKDF-SHA256 (RFC 5869) without salt: 32 bytes, which is one block of its expand step. */
export function hkdfSha256(secret: Uint8Array, info: string): Uint8Array {
  const pseudorandomKey = hmacSha256(new Uint8Array(32), secret)
  return hmacSha256(pseudorandomKey, utf8ToBytes(`${info}\u0001`))
}
