import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'

/** Sizes of XChaCha20-Poly1305 in bytes. */
export const NONCE_BYTES = 24
export const TAG_BYTES = 16

/** XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): ciphertext || tag. A nonce must never come twice under one key. */
export function seal(key: Uint8Array, nonce: Uint8Array, associatedData: Uint8Array, plaintext: Uint8Array) {
  return xchacha20poly1305(key, nonce, associatedData).encrypt(plaintext)
}

/**
 * The plaintext, or undefined when the tag does not match: key, nonce, associated data or ciphertext is not the sealed
 * one's.
 */
export function open(key: Uint8Array, nonce: Uint8Array, associatedData: Uint8Array, sealed: Uint8Array) {
  const cipher = xchacha20poly1305(key, nonce, associatedData)
  try {
    return cipher.decrypt(sealed)
  } catch {
    return undefined
  }
}
