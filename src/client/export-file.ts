import type { ExportSummary, OpenedExport, PlaintextBookmark } from './bookmark.ts'
import { ExportError } from './errors.ts'
import { openChunks } from './export-file/chunks.ts'
import type { ExportFile } from './export-file/cut.ts'
import { ExportJson } from './export-file/json.ts'
import type { Keys } from './keys.ts'
import { decryptBookmark, type StoredRecord } from './record.ts'

/** What opens an export file. */
export interface ExportKeys {
  /**
   * The export key of the time when the export was made, 32 bytes: usually `keys.exportKey`, else from `GET
   * export-key?export=ID`.
   */
  exportKey: Uint8Array
  /** Open the bookmarks inside. */
  keys: Keys
}

/**
 * Opens an export file as a whole: either everything is as it was exported, or it throws. The file is read and
 * decrypted as it arrives; only the bookmarks are kept.
 *
 * @throws ExportError `not-an-export`, `unknown-version`, `other-key`, `damaged`, `trailing-bytes`, `counter-overflow`,
 *   `malformed`
 * @throws RecordError when a bookmark inside does not open; the message names its id
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
 * Opens an export file bookmark by bookmark, at constant memory, for files that do not fit into it. Each bookmark that
 * comes out is genuine, but **nothing counts as opened before the generator has returned**: only then is it certain
 * that none is missing. When it throws, discard what came.
 *
 * @returns `version`, `exported_at` and `bookmark_count`, after the last bookmark
 * @throws as `openExport`
 */
export async function* streamExport(
  file: ExportFile,
  { exportKey, keys }: ExportKeys,
): AsyncGenerator<PlaintextBookmark, ExportSummary, undefined> {
  const json = new ExportJson()
  for await (const chunk of openChunks(file, exportKey)) {
    for (const element of json.push(chunk)) yield decryptBookmark(keys, asRecord(element))
  }
  return json.end()
}

function asRecord(element: Partial<StoredRecord>): StoredRecord {
  const { id, encrypted_data, data_hash } = element
  if (typeof id !== 'string' || typeof encrypted_data !== 'string' || typeof data_hash !== 'string') {
    throw new ExportError('malformed', 'A bookmark of the export file lacks id, encrypted_data or data_hash')
  }
  return { id, encrypted_data, data_hash }
}
