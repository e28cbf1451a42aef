import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { nodeCrypto } from './node-crypto.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** HMAC-SHA-256 (RFC 2104). */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  return hmac(sha256, key, message)
}

/** HKDF-SHA256 (RFC 5869) without salt: 32 bytes, which is one block of its second step. */
export function hkdfSha256(secret: Uint8Array, info: string): Uint8Array {
  const pseudorandomKey = hmacSha256(new Uint8Array(32), secret)
  return hmacSha256(pseudorandomKey, utf8ToBytes(`${info}\u0001`))
}

/**
 * SHA-256 (FIPS 180-4) by the platform, in less than half of the library's time: synchronously in Node, in parallel in
 * browsers. Pages loaded over plain HTTP use the library.
 */
export function sha256Aside(bytes: Bytes): Uint8Array | Promise<ArrayBuffer> {
  if (nodeCrypto) return nodeCrypto.hash('sha256', bytes, 'buffer')
  return crypto.subtle ? crypto.subtle.digest('SHA-256', bytes) : sha256(bytes)
}

/** HMAC-SHA-256 under this key, for many messages: by the platform, as `sha256Aside`. */
export async function hmacAside(key: Uint8Array): Promise<(bytes: Bytes) => Bytes | Promise<ArrayBuffer>> {
  const node = nodeCrypto
  if (node) return (bytes) => node.createHmac('sha256', key).update(bytes).digest()
  if (!crypto.subtle) return (bytes) => hmacSha256(key, bytes) as Bytes
  const held = await crypto.subtle.importKey('raw', key as Bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return (bytes) => crypto.subtle.sign('HMAC', held, bytes)
}
