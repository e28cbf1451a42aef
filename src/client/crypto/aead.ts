// The library's one-time authenticator is not among its public exports, and its own cipher takes three times as long for the
// length of a bookmark. `test/client/record.test.ts` compares every result with that cipher, and fails if this part changes.
import { poly1305 } from '@noble/ciphers/_poly1305.js'
import { hchacha, xchacha20 } from '@noble/ciphers/chacha.js'
import { equalBytes } from '@noble/ciphers/utils.js'
import { type NodeCrypto, nodeCrypto } from './node-crypto.ts'

/** Sizes of XChaCha20-Poly1305 in bytes. */
export const NONCE_BYTES = 24
export const TAG_BYTES = 16
/** Of its keystream. */
const BLOCK_BYTES = 64

/**
 * XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): ciphertext || tag. Never use a nonce twice under one key.
 *
 * Here and in `openByLibrary`, one keystream yields both the tag's key (block 0) and the text (from block 1), as in RFC 8439,
 * section 2.8.
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

/** By Node's own cipher where there is one: the `node:crypto` of Bun and Electron lacks it. */
export const open: typeof openByLibrary = /* @__PURE__ */ fastestOpen()

function fastestOpen(): typeof openByLibrary {
  return nodeCrypto?.getCiphers().includes('chacha20-poly1305') ? openWith(nodeCrypto) : openByLibrary
}

/**
 * The plaintext, or undefined if the tag does not match: the key, nonce, associated data or ciphertext is not the one used
 * for sealing.
 */
export function openByLibrary(
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

/**
 * The same in a tenth of the time for long texts. Node has ChaCha20-Poly1305 (RFC 8439) alone; HChaCha20 derives its key, as
 * draft-irtf-cfrg-xchacha-03, section 2.3 says.
 */
export function openWith({ createDecipheriv }: NodeCrypto): typeof openByLibrary {
  return (key, nonce, associatedData, sealed) => {
    if (sealed.length < TAG_BYTES) return undefined
    const subkey = new Uint32Array(8)
    // `expand 32-byte k`, as in RFC 8439, section 2.3.
    const constants = Uint32Array.of(0x61707865, 0x3320646e, 0x79622d32, 0x6b206574)
    hchacha(constants, wordsOf(key), wordsOf(nonce.subarray(0, 16)), subkey)
    const shortNonce = new Uint8Array(12)
    shortNonce.set(nonce.subarray(16), 4)
    const options = { authTagLength: TAG_BYTES }
    const decipher = createDecipheriv('chacha20-poly1305', new Uint8Array(subkey.buffer), shortNonce, options)
    const ciphertext = sealed.subarray(0, -TAG_BYTES)
    decipher.setAAD(associatedData, { plaintextLength: ciphertext.length })
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
    const { buffer, byteOffset, length } = decipher.update(ciphertext)
    try {
      decipher.final()
    } catch {
      return undefined
    }
    return new Uint8Array(buffer, byteOffset, length)
  }
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

/** Of a copy, because the bytes need not begin at a word. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(Uint8Array.from(bytes).buffer)
}
