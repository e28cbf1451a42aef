/** Sizes of XChaCha20-Poly1305 in bytes. */
export const NONCE_BYTES = 24
export const TAG_BYTES = 16
/** Of its keystream. */
export const BLOCK_BYTES = 64

/** The bytes that the tag authenticates: both parts zero-padded to 16 bytes, then their lengths (64 bits, little-endian). */
export function authenticated(associatedData: Uint8Array, ciphertext: Uint8Array): Uint8Array {
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
