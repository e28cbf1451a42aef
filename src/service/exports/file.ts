import { createCipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { hchacha } from '@noble/ciphers/chacha.js'
import { exportFile } from '../../protocol/export-file.ts'

const { magic, version, keyIdInfo, keyIdBytes, noncePrefixBytes, chunkBytes, tagBytes } = exportFile
/** Bytes of the longest character in UTF-8. */
const longestCharacter = 4
const encoder = new TextEncoder()
const sigma = words(Buffer.from('expand 32-byte k'))

/**
 * Encrypts an export file piece by piece in constant memory: a 32-byte header, then XChaCha20-Poly1305 chunks in the
 * STREAM construction. Nonce = prefix, 4-byte big-endian counter, last-chunk flag; associated data = the header. The
 * plaintext is never empty, so the last chunk is not either. A piece is valid until the next one is requested.
 */
export async function* encryptFile(exportKey: Uint8Array, plaintext: AsyncIterable<string>): AsyncGenerator<Buffer> {
  const { header, seal } = createSealer(exportKey)
  yield header
  // Text is encoded into the buffer where it will be encrypted: copies of large texts would pile up before they are
  // collected.
  const buffer = Buffer.alloc(chunkBytes + longestCharacter - 1)
  let filled = 0
  const sealFull = () => {
    const chunk = seal(buffer.subarray(0, chunkBytes), false)
    buffer.copyWithin(0, chunkBytes, filled)
    filled -= chunkBytes
    return chunk
  }
  for await (const text of plaintext) {
    for (let rest = text; rest !== ''; ) {
      // A full chunk waits for another byte, because until then it may be the last.
      if (filled >= chunkBytes) {
        yield sealFull()
        // The database may answer synchronously, and the store may collect pieces: together they would block the event
        // loop.
        await eventLoopTurn()
      }
      const { read, written } = encoder.encodeInto(rest, buffer.subarray(filled))
      rest = rest.slice(read)
      filled += written
    }
  }
  if (filled > chunkBytes) yield sealFull()
  yield seal(buffer.subarray(0, filled), true)
}

/** All nonces have the same first 16 bytes, so the file needs one HChaCha20 subkey. Node's cipher does the rest. */
function createSealer(exportKey: Uint8Array) {
  const prefix = randomBytes(noncePrefixBytes)
  const header = Buffer.concat([Buffer.from(magic), Uint8Array.of(version), keyId(exportKey), prefix])
  const key = createSecretKey(subkey(exportKey, prefix.subarray(0, 16)))
  const nonce = Buffer.alloc(12)
  prefix.copy(nonce, 4, 16)
  let counter = 0
  const sealed = Buffer.alloc(chunkBytes + tagBytes)
  return {
    header,
    seal(plaintext: Buffer, last: boolean): Buffer {
      // Throws once the counter exceeds 4 bytes.
      nonce.writeUInt32BE(counter++, 7)
      nonce.writeUInt8(last ? 1 : 0, 11)
      const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagBytes })
      cipher.setAAD(header, { plaintextLength: plaintext.length })
      const ciphertext = cipher.update(plaintext)
      cipher.final()
      const length = ciphertext.copy(sealed) + cipher.getAuthTag().copy(sealed, ciphertext.length)
      free(ciphertext)
      return sealed.subarray(0, length)
    },
  }
}

/** Frees the memory at once, because the garbage collector would let tens of megabytes pile up first. */
function free({ buffer, byteLength }: Buffer<ArrayBuffer>): void {
  if (buffer.byteLength === byteLength) buffer.transfer(0)
}

function keyId(exportKey: Uint8Array): Buffer {
  return createHash('sha256').update(keyIdInfo).update(exportKey).digest().subarray(0, keyIdBytes)
}

function subkey(key: Uint8Array, noncePrefix: Uint8Array): Uint8Array {
  const out = new Uint32Array(8)
  hchacha(sigma, words(key), words(noncePrefix), out)
  return new Uint8Array(out.buffer)
}

function words(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(Uint8Array.from(bytes).buffer)
}
