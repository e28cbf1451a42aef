import { sha256 } from '@noble/hashes/sha2.js'
import { nodeCrypto } from './node-crypto.ts'

/**
 * SHA-256 (FIPS 180-4) by the platform, in less than half of the library's time: synchronously in Node, in parallel in
 * browsers. Pages loaded over plain HTTP use the library.
 */
export function sha256Aside(bytes: Uint8Array<ArrayBuffer>): Uint8Array | Promise<ArrayBuffer> {
  if (nodeCrypto) return nodeCrypto.hash('sha256', bytes, 'buffer')
  return crypto.subtle ? crypto.subtle.digest('SHA-256', bytes) : sha256(bytes)
}
