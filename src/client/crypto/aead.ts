import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'

/** Sizes of XChaCha20-Poly1305 in bytes. */
export const NONCE_BYTES = 24
export const TAG_BYTES = 16

/**
 * XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): ciphertext || tag. Never use a nonce twice under one key.
 *
 * @param prefix if given, the result begins with prefix || nonce
 */
export function seal(
  key: Uint8Array,
  nonce: Uint8Array,
  associatedData: Uint8Array,
  plaintext: Uint8Array,
  prefix?: Uint8Array,
) {
  const start = prefix ? prefix.length + nonce.length : 0
  const bytes = new Uint8Array(start + plaintext.length + TAG_BYTES)
  if (prefix) {
    bytes.set(prefix)
    bytes.set(nonce, prefix.length)
  }
  xchacha20poly1305(key, nonce, associatedData).encrypt(plaintext, bytes.subarray(start))
  return bytes
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
  try {
    return xchacha20poly1305(key, nonce, associatedData).decrypt(sealed)
  } catch {
    return undefined
  }
}
