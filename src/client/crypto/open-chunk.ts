import { hchacha } from '@noble/ciphers/chacha.js'
import { open, TAG_BYTES } from './aead.ts'
import { type NodeCrypto, nodeCrypto } from './node-crypto.ts'

/**
 * Like `open`, for long texts. Node's own cipher takes a tenth of the time. The `node:crypto` of Bun and Electron lacks
 * that cipher: they use `open`.
 */
export const openChunk: typeof open = /* @__PURE__ */ fastestOpen()

function fastestOpen(): typeof open {
  return nodeCrypto?.getCiphers().includes('chacha20-poly1305') ? openWith(nodeCrypto) : open
}

/** Node has only ChaCha20-Poly1305 (RFC 8439). HChaCha20 derives its key (draft-irtf-cfrg-xchacha-03, 2.3). */
export function openWith({ createDecipheriv }: NodeCrypto): typeof open {
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

/** The bytes as 32-bit words. Copies them, because they may not be aligned. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(Uint8Array.from(bytes).buffer)
}
