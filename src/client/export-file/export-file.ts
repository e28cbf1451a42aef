import type { ExportSummary, OpenedExport, PlaintextBookmark } from '../bookmark.ts'
import type { Keys } from '../crypto/keys.ts'
import { decryptBookmarkAside } from '../crypto/many-records.ts'
import type { StoredRecord } from '../crypto/record.ts'
import { ExportError } from '../errors.ts'
import type { ExportFile } from './chunks.ts'
import { openChunks } from './chunks.ts'
import { ExportJson } from './json.ts'

/** The keys that open an export file. */
export interface ExportKeys {
  /**
   * The export key, 32 bytes, from the time when the export was made: usually `keys.exportKey`, otherwise from `GET
   * export-key?export=ID`. Files from before a rotation open with `keys.exportKey`, too, by the older keys.
   */
  exportKey: Uint8Array
  /** Decrypt the bookmarks inside. */
  keys: Keys
}

/**
 * Opens a whole export file: either it returns everything as it was exported, or it throws. The file is decrypted as it
 * arrives; only the bookmarks are kept in memory.
 *
 * @throws ExportError `not-an-export`, `unknown-version`, `other-key`, `damaged`, `trailing-bytes`, `counter-overflow`,
 *   `malformed`
 * @throws RecordError if a bookmark inside cannot be decrypted; the message names its id
 */
export async function openExport(file: ExportFile, exportKeys: ExportKeys): Promise<OpenedExport> {
  const bookmarks: PlaintextBookmark[] = []
  const reading = streamExport(file, exportKeys)
  for (;;) {
    const { done, value } = await reading.next()
    if (done) return { ...value, bookmarks }
    bookmarks.push(value)
  }
}

/**
 * Opens an export file bookmark by bookmark in constant memory, for files that do not fit into memory. Every bookmark that
 * it yields is genuine, but **do not treat the file as opened before the generator has returned**: only then is it certain
 * that no bookmark is missing. If it throws, discard what it yielded.
 *
 * @returns `version`, `exported_at` and `bookmark_count`, after the last bookmark
 * @throws as `openExport`
 */
export async function* streamExport(
  file: ExportFile,
  { exportKey, keys }: ExportKeys,
): AsyncGenerator<PlaintextBookmark, ExportSummary, undefined> {
  const json = new ExportJson()
  const exportKeys = [exportKey]
  for (let { older } = keys; older; { older } = older) exportKeys.push(older.exportKey)
  for await (const chunk of openChunks(file, ...exportKeys)) {
    for (const element of json.push(chunk)) yield decryptBookmarkAside(keys, asRecord(element))
  }
  return json.end()
}

function asRecord(element: Partial<StoredRecord>): StoredRecord {
  const { id, encrypted_data, data_hash } = element
  if (typeof id !== 'string' || typeof encrypted_data !== 'string' || typeof data_hash !== 'string') {
    throw new ExportError('malformed', 'A bookmark in the export file lacks id, encrypted_data or data_hash')
  }
  return { id, encrypted_data, data_hash }
}
