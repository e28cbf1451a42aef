import { sha256 } from '@noble/hashes/sha2.js'
import { abytes, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { exportFile } from '../../protocol/export-file.ts'
import type { ExportSummary, OpenedExport, PlaintextBookmark } from '../bookmark.ts'
import { seal } from '../crypto/aead.ts'
import type { Keys } from '../crypto/keys.ts'
import { decryptBookmarkAside } from '../crypto/many-records.ts'
import { openChunk } from '../crypto/open-chunk.ts'
import type { StoredRecord } from '../crypto/record.ts'
import { ExportError } from '../errors.ts'
import { ExportJson, lists } from './json.ts'

/** The keys that open an export file. */
export interface ExportKeys {
  /**
   * The export key (32 bytes) from the time when the export was made: usually `keys.exportKey`. Those of the older keys are
   * tried, too, for files from before a rotation. Otherwise from `GET /api/v1/account/export-key?export=ID`.
   */
  exportKey: Uint8Array
  /** The keys that decrypt the bookmarks inside. */
  keys: Keys
}

/**
 * Opens a whole export file: returns everything in it except malformed fields, or throws. Decrypts the file as it arrives,
 * and keeps only the records in memory.
 *
 * @throws ExportError `not-an-export`, `unknown-version`, `other-key`, `damaged`, `trailing-bytes`, `counter-overflow`,
 *   `malformed`
 * @throws RecordError a bookmark inside cannot be decrypted; the message has its id
 */
export async function openExport(file: ExportFile, exportKeys: ExportKeys): Promise<OpenedExport> {
  const opened: Omit<OpenedExport, keyof ExportSummary> = { bookmarks: [] }
  const reading = streamRecords(file, exportKeys)
  for (;;) {
    const { done, value } = await reading.next()
    if (done) return { ...value, ...opened }
    const list = opened[value.list] ?? []
    opened[value.list] = list
    list.push(value.bookmark)
  }
}

/**
 * Opens an export file bookmark by bookmark in constant memory, for files that do not fit into memory. Every bookmark that
 * it yields is genuine, but **do not treat the file as opened before the generator has returned**: only then is it certain
 * that no bookmark is missing. If it throws, discard the bookmarks that it yielded.
 *
 * @returns `version`, `exported_at` and `bookmark_count`, after the last bookmark
 * @throws as `openExport`
 */
export async function* streamExport(
  file: ExportFile,
  exportKeys: ExportKeys,
): AsyncGenerator<PlaintextBookmark, ExportSummary, undefined> {
  const reading = streamRecords(file, exportKeys)
  try {
    for (;;) {
      const { done, value } = await reading.next()
      if (done) return value
      if (value.list === 'bookmarks') yield value.bookmark
    }
  } finally {
    // Closes the file if the caller stops early.
    await reading.return(undefined as never)
  }
}

/** A record of an export, encrypted and in plaintext. */
export interface ExportRecord {
  list: keyof typeof lists
  record: StoredRecord
  bookmark: PlaintextBookmark
}

/** Like `streamExport`, for the records of all types. */
export async function* streamRecords(
  file: ExportFile,
  { exportKey, keys }: ExportKeys,
): AsyncGenerator<ExportRecord, ExportSummary, undefined> {
  const json = new ExportJson()
  const exportKeys = [exportKey]
  for (let { older } = keys; older; { older } = older) exportKeys.push(older.exportKey)
  for await (const chunk of openChunks(file, ...exportKeys)) {
    for (const { list, record } of json.push(chunk)) {
      requireRecord(record)
      yield { list, record, bookmark: await decryptBookmarkAside(keys, record, lists[list]) }
    }
  }
  return json.end()
}

function requireRecord(record: Partial<StoredRecord>): asserts record is StoredRecord {
  const { id, encrypted_data, data_hash } = record
  if (typeof id !== 'string' || typeof encrypted_data !== 'string' || typeof data_hash !== 'string') {
    throw new ExportError('malformed', 'A record in the export file lacks id, encrypted_data or data_hash')
  }
}

/** Encrypts a text as an export file. `openChunks` has the layout. */
export async function writeExport(exportKey: Uint8Array, text: Blob): Promise<Blob> {
  const { magic, version, headerBytes, chunkBytes } = exportFile
  const random = crypto.getRandomValues(new Uint8Array(headerBytes))
  const named = concatBytes(utf8ToBytes(magic), Uint8Array.of(version), keyIdOf(exportKey))
  const header = concatBytes(named, random.subarray(named.length))
  const parts = [header]
  for await (const { bytes, last } of cut(text, chunkBytes, chunkBytes)) {
    parts.push(seal(exportKey, chunkNonce(header, parts.length - 1, last), header, bytes))
  }
  return new Blob(
    parts.map((part) => Uint8Array.from(part)),
    { type: 'application/octet-stream' },
  )
}

/**
 * Decrypts an export file chunk by chunk, in constant memory.
 *
 * The file is a 32-byte header (`EBSX`, version 1, the first 8 bytes of SHA-256(`ebs/key-id` || key), a 19-byte nonce
 * prefix) and chunks of 65,536 bytes, each XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) with its 16-byte tag, in the
 * STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár 2015): nonce = prefix, 4-byte big-endian counter from 0,
 * flag byte 1 for the last chunk and otherwise 0; associated data = the header. Every chunk that it yields is genuine and
 * in its place, but only when the generator ends is it certain that the file is complete.
 *
 * @param exportKeys the header names one of them by its key id
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
    const chunk = openChunk(exportKey, chunkNonce(header, counter, last), header, bytes)
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

/** The key that a valid header names. */
function keyFor(header: Uint8Array, exportKeys: Uint8Array[]): Uint8Array {
  const magic = utf8ToBytes(exportFile.magic)
  if (!startsWith(header, magic)) throw new ExportError('not-an-export', 'This is not an export file')
  if (header.length < exportFile.headerBytes) throw new ExportError('damaged', 'The export file ends within its header')
  const version = header[magic.length]
  if (version !== exportFile.version) {
    throw new ExportError('unknown-version', `The export file has version ${version}, which this client does not know`)
  }
  const named = header.subarray(magic.length + 1)
  const exportKey = exportKeys.find((key) => startsWith(named, keyIdOf(key)))
  if (!exportKey) throw new ExportError('other-key', 'The export file was encrypted under another export key')
  return exportKey
}

function keyIdOf(exportKey: Uint8Array): Uint8Array {
  return sha256(concatBytes(utf8ToBytes(exportFile.keyIdInfo), exportKey)).subarray(0, exportFile.keyIdBytes)
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  return start.every((byte, index) => bytes[index] === byte)
}

// Bytes after the end can be told from damage only if the last chunk has full size: then it opens with the last one's flag.
function diagnose(key: Uint8Array, header: Uint8Array, counter: number, bytes: Uint8Array, last: boolean) {
  if (!last && openChunk(key, chunkNonce(header, counter, true), header, bytes)) {
    return new ExportError('trailing-bytes', 'The export file has bytes after its end')
  }
  const reasons = 'the file is damaged, truncated, reordered, or has bytes after its end'
  return new ExportError('damaged', `Chunk ${counter} of the export file cannot be decrypted: ${reasons}`)
}

/** A source of an export file: bytes, a Blob or File, a fetch response's body, or anything that yields bytes. */
export type ExportFile = Uint8Array | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

/** A piece of the file. */
interface Piece {
  /** Valid until the next piece is requested. */
  bytes: Uint8Array
  /** True if the file ends after this piece. */
  last: boolean
}

/** Splits the file into a head and pieces of `size` bytes; the last piece may be shorter. Keeps one piece in memory. */
async function* cut(file: ExportFile, headSize: number, size: number): AsyncGenerator<Piece, void, undefined> {
  let buffer = new Uint8Array(headSize)
  let filled = 0
  for await (const run of runs(file)) {
    for (let start = 0; start < run.length; ) {
      if (filled === buffer.length) {
        yield { bytes: buffer, last: false }
        if (buffer.length !== size) buffer = new Uint8Array(size)
        filled = 0
      }
      const part = run.subarray(start, start + buffer.length - filled)
      buffer.set(part, filled)
      filled += part.length
      start += part.length
    }
  }
  yield { bytes: buffer.subarray(0, filled), last: true }
}

async function* runs(file: ExportFile): AsyncGenerator<Uint8Array, void, undefined> {
  if (file instanceof Uint8Array) yield file
  else if (file instanceof Blob) yield* streamed(file.stream())
  else if ('getReader' in file) yield* streamed(file)
  else yield* file
}

/** Yields the bytes of a stream. Not every browser can iterate over a ReadableStream. */
export async function* streamed(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
  } finally {
    await reader.cancel()
  }
}
