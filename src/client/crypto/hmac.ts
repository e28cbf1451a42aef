import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { nodeCrypto } from './node-crypto.ts'

type Bytes = Uint8Array<ArrayBuffer>
type Hmac = (bytes: Bytes) => Bytes | Promise<ArrayBuffer>

/** HMAC-SHA-256 (RFC 2104) under this key, for many messages: by the platform, as `sha256Aside`. */
export async function hmacAside(key: Uint8Array): Promise<Hmac> {
  const node = nodeCrypto
  if (node) return (bytes) => node.createHmac('sha256', key).update(bytes).digest()
  if (!crypto.subtle) return (bytes) => hmac(sha256, key, bytes) as Bytes
  const held = await crypto.subtle.importKey('raw', key as Bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return (bytes) => crypto.subtle.sign('HMAC', held, bytes)
}
