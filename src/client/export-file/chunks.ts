import { sha256 } from '@noble/hashes/sha2.js'
import { abytes, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { exportFile } from '../../protocol/export-file.ts'
import { open } from '../crypto/aead.ts'
import { ExportError } from '../errors/local.ts'
import { cut, type ExportFile } from './cut.ts'

/**
 * Yields the plaintext of an export file chunk by chunk, in constant memory.
 *
 * The file is a 32-byte header (`EBSX`, version 1, the first 8 bytes of SHA-256(`ebs/key-id` || key), a 19-byte nonce
 * prefix) and chunks of 65,536 bytes, each XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) with its 16-byte tag, in the
 * STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár 2015): nonce = prefix, 4-byte big-endian counter from 0,
 * flag byte 1 for the last chunk and otherwise 0; associated data = the header. Every chunk that it yields is genuine and
 * in its place, but only when the generator ends is it certain that the file is complete.
 *
 * @param exportKeys the file names one of them
 * @throws ExportError `not-an-export`, `unknown-version`, `other-key`, `damaged`, `trailing-bytes`, `counter-overflow`
 */
export async function* openChunks(
  file: ExportFile,
  ...exportKeys: Uint8Array[]
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const key of exportKeys) abytes(key, 32, 'exportKey')
  const { headerBytes, chunkBytes, tagBytes } = exportFile
  let header: Uint8Array | undefined
  let exportKey: Uint8Array = new Uint8Array()
  let counter = 0
  for await (const { bytes, last } of cut(file, headerBytes, chunkBytes + tagBytes)) {
    if (header === undefined) {
      header = bytes.slice()
      exportKey = keyFor(header, exportKeys)
      if (last) throw new ExportError('damaged', 'The export file ends after its header')
      continue
    }
    const chunk = open(exportKey, chunkNonce(header, counter, last), header, bytes)
    if (chunk === undefined || chunk.length === 0) throw diagnose(exportKey, header, counter, bytes, last)
    yield chunk
    counter++
  }
}

/** The nonce of a chunk: prefix, counter, flag. @throws ExportError `counter-overflow` */
export function chunkNonce(header: Uint8Array, counter: number, last: boolean): Uint8Array {
  if (counter > 0xffff_ffff) throw new ExportError('counter-overflow', 'The export file has more than 2^32 chunks')
  const tail = new DataView(new ArrayBuffer(5))
  tail.setUint32(0, counter)
  tail.setUint8(4, last ? 1 : 0)
  return concatBytes(header.subarray(-exportFile.noncePrefixBytes), new Uint8Array(tail.buffer))
}

/** The key that a genuine header names. */
function keyFor(header: Uint8Array, exportKeys: Uint8Array[]): Uint8Array {
  const magic = utf8ToBytes(exportFile.magic)
  if (!startsWith(header, magic)) throw new ExportError('not-an-export', 'This is not an export file')
  if (header.length < exportFile.headerBytes) throw new ExportError('damaged', 'The export file ends within its header')
  const version = header[magic.length]
  if (version !== exportFile.version) {
    throw new ExportError('unknown-version', `The export file has version ${version}, which this client does not know`)
  }
  const named = header.subarray(magic.length + 1)
  const exportKey = exportKeys.find((key) => {
    const keyHash = sha256(concatBytes(utf8ToBytes(exportFile.keyIdInfo), key))
    return startsWith(named, keyHash.subarray(0, exportFile.keyIdBytes))
  })
  if (!exportKey) throw new ExportError('other-key', 'The export file was encrypted under another export key')
  return exportKey
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  return start.every((byte, index) => bytes[index] === byte)
}

// If bytes follow a full last chunk, it opens under the other flag. The end of a shorter last chunk cannot be found.
function diagnose(key: Uint8Array, header: Uint8Array, counter: number, bytes: Uint8Array, last: boolean) {
  if (!last && open(key, chunkNonce(header, counter, true), header, bytes)) {
    return new ExportError('trailing-bytes', 'The export file has bytes after its end')
  }
  const reasons = 'the file is damaged, truncated, reordered, or has bytes after its end'
  return new ExportError('damaged', `Chunk ${counter} of the export file cannot be decrypted: ${reasons}`)
}
