import { createCipheriv, createHash, randomBytes } from 'node:crypto'
import { hchacha } from '@noble/ciphers/chacha.js'

const magic = Buffer.from('EBSX')
const version = Uint8Array.of(1)
const prefixLength = 19
const tagLength = 16
const chunkLength = 65_536
const sigma = words(Buffer.from('expand 32-byte k'))

/**
 * An export file, piece by piece at constant memory: a 32-byte header, then XChaCha20-Poly1305 chunks in the STREAM
 * construction. Nonce = prefix, 4-byte big-endian counter, last-chunk flag; associated data = the header. The plaintext
 * is not empty, so neither is the last chunk.
 */
export async function* encryptFile(exportKey: Uint8Array, plaintext: AsyncIterable<string>): AsyncGenerator<Buffer> {
  const { header, seal } = createSealer(exportKey)
  yield header
  const chunk = Buffer.alloc(chunkLength)
  let filled = 0
  for await (const text of plaintext) {
    const bytes = Buffer.from(text)
    for (let start = 0; start < bytes.length; ) {
      // A full chunk waits until a byte follows it: only then it is not the last.
      if (filled === chunkLength) {
        yield seal(chunk, false)
        filled = 0
      }
      const copied = bytes.copy(chunk, filled, start)
      filled += copied
      start += copied
    }
  }
  yield seal(chunk.subarray(0, filled), true)
}

/** The first 16 bytes of every nonce are the prefix's, so one HChaCha20 subkey serves the file and the platform's cipher does the rest. */
function createSealer(exportKey: Uint8Array) {
  const prefix = randomBytes(prefixLength)
  const header = Buffer.concat([magic, version, keyId(exportKey), prefix])
  const key = subkey(exportKey, prefix.subarray(0, 16))
  const nonce = Buffer.alloc(12)
  prefix.copy(nonce, 4, 16)
  let counter = 0
  return {
    header,
    seal(plaintext: Buffer, last: boolean): Buffer {
      // Throws once the counter needs more than 4 bytes.
      nonce.writeUInt32BE(counter++, 7)
      nonce.writeUInt8(last ? 1 : 0, 11)
      const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagLength })
      cipher.setAAD(header, { plaintextLength: plaintext.length })
      return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
    },
  }
}

function keyId(exportKey: Uint8Array): Buffer {
  return createHash('sha256').update('ebs/key-id').update(exportKey).digest().subarray(0, 8)
}

function subkey(key: Uint8Array, noncePrefix: Uint8Array): Uint8Array {
  const out = new Uint32Array(8)
  hchacha(sigma, words(key), words(noncePrefix), out)
  return new Uint8Array(out.buffer)
}

function words(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(Uint8Array.from(bytes).buffer)
}
