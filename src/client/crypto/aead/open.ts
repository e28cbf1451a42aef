import { poly1305 } from '@noble/ciphers/_poly1305.js'
import { xchacha20 } from '@noble/ciphers/chacha.js'
import { equalBytes } from '@noble/ciphers/utils.js'
import { authenticated, BLOCK_BYTES, TAG_BYTES } from './form.ts'

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
