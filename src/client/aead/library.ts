import { poly1305 } from '@noble/ciphers/_poly1305.js'
import { xchacha20 } from '@noble/ciphers/chacha.js'
import { equalBytes } from '@noble/ciphers/utils.js'

const TAG_BYTES = 16
const BLOCK_BYTES = 64

/**
 * XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): ciphertext || tag. Never use a nonce twice under one key.
 *
 * Here and in `open`, one keystream yields both the tag's key (block 0) and the text (from block 1), as in RFC 8439,
 * section 2.8. The library's own cipher is set up for each, which for short texts costs as much as the cipher itself.
 */
export function seal(key: Uint8Array, nonce: Uint8Array, associatedData: Uint8Array, plaintext: Uint8Array) {
  const stream = new Uint8Array(BLOCK_BYTES + plaintext.length + TAG_BYTES)
  stream.set(plaintext, BLOCK_BYTES)
  const text = stream.subarray(0, -TAG_BYTES)
  xchacha20(key, nonce, text, text)
  const tag = poly1305(authenticated(associatedData, text.subarray(BLOCK_BYTES)), text.subarray(0, 32))
  stream.set(tag, text.length)
  stream.fill(0, 0, BLOCK_BYTES)
  return stream.subarray(BLOCK_BYTES)
}

/**
 * The plaintext, or undefined if the tag does not match: the key, nonce, associated data or ciphertext is not the one used
 * for sealing.
 */
export function open(
  key: Uint8Array,
  nonce: Uint8Array,
  associatedData: Uint8Array,
  sealed: Uint8Array,
): Uint8Array<ArrayBuffer> | undefined {
  const ciphertext = sealed.subarray(0, -TAG_BYTES)
  const stream = new Uint8Array(BLOCK_BYTES + ciphertext.length)
  stream.set(ciphertext, BLOCK_BYTES)
  xchacha20(key, nonce, stream, stream)
  const tag = poly1305(authenticated(associatedData, ciphertext), stream.subarray(0, 32))
  return equalBytes(tag, sealed.subarray(-TAG_BYTES)) ? stream.subarray(BLOCK_BYTES) : undefined
}

/** The bytes that the tag authenticates: both parts zero-padded to 16 bytes, then their lengths (64 bits, little-endian). */
function authenticated(associatedData: Uint8Array, ciphertext: Uint8Array): Uint8Array {
  const [start, end] = [padded(associatedData.length), padded(associatedData.length) + padded(ciphertext.length)]
  const bytes = new Uint8Array(end + 16)
  bytes.set(associatedData)
  bytes.set(ciphertext, start)
  for (let byte = 0; byte < 4; byte++) {
    bytes[end + byte] = associatedData.length >>> (8 * byte)
    bytes[end + 8 + byte] = ciphertext.length >>> (8 * byte)
  }
  return bytes
}

function padded(length: number): number {
  return Math.ceil(length / 16) * 16
}
