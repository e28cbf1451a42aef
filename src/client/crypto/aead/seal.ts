import { poly1305 } from '@noble/ciphers/_poly1305.js'
import { xchacha20 } from '@noble/ciphers/chacha.js'
import { authenticated, BLOCK_BYTES, TAG_BYTES } from './form.ts'

/**
 * XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): ciphertext || tag. Never use a nonce twice under one key.
 *
 * Here and in `open`, one keystream yields both the tag's key (block 0) and the text (from block 1), as in RFC 8439,
 * section 2.8. The library's own cipher is set up for each, which for short texts costs as much as the cipher itself.
 *
 * @param prefix if given, prefix || nonce come first. They take the place of block 0, which saves a copy of everything.
 */
export function seal(
  key: Uint8Array,
  nonce: Uint8Array,
  associatedData: Uint8Array,
  plaintext: Uint8Array,
  prefix?: Uint8Array,
) {
  const stream = new Uint8Array(BLOCK_BYTES + plaintext.length + TAG_BYTES)
  stream.set(plaintext, BLOCK_BYTES)
  const text = stream.subarray(0, -TAG_BYTES)
  xchacha20(key, nonce, text, text)
  const tag = poly1305(authenticated(associatedData, text.subarray(BLOCK_BYTES)), text.subarray(0, 32))
  stream.set(tag, text.length)
  stream.fill(0, 0, BLOCK_BYTES)
  if (!prefix) return stream.subarray(BLOCK_BYTES)
  const start = BLOCK_BYTES - nonce.length - prefix.length
  stream.set(prefix, start)
  stream.set(nonce, start + prefix.length)
  return stream.subarray(start)
}
