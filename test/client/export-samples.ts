import { deriveKeys, encryptBookmark, type PlaintextBookmark } from '../../src/client/index.ts'
import { writeExport } from './second-implementation.ts'

export const keys = deriveKeys(new Uint8Array(32).fill(7))
export const exportKeys = { exportKey: keys.exportKey, keys }
export const prefix = new Uint8Array(19).map((_, index) => index)
export const CHUNK = 65_552
export const HEADER = 32

export function makeBookmarks(count: number): PlaintextBookmark[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `bookmark ${index}`,
    title: `"Title" {${index}], with \\ and 🦊`,
    url: `https://example.org/${index}`,
    source: 'bookmarks',
  }))
}

export function exportJson(bookmarks: PlaintextBookmark[]): string {
  const records = bookmarks.map((bookmark, index) => {
    const times = { created_at: 1_700_000_000_000 + index, updated_at: 1_700_000_000_000 + index }
    return { id: bookmark.id, ...encryptBookmark(keys, bookmark), ...times }
  })
  return JSON.stringify({
    version: '1',
    exported_at: '2026-01-02T03:04:05.678Z',
    bookmarks: records,
    bookmark_count: records.length,
  })
}

/** An export file of two bookmarks. Spaces before the first bookmark pad the plaintext to `size` bytes. */
export function exportOfSize(size?: number): Buffer {
  const json = exportJson(makeBookmarks(2))
  const spaces = ' '.repeat(size === undefined ? 0 : size - Buffer.byteLength(json))
  return writeExport(keys.exportKey, prefix, json.replace('"bookmarks":[', `$&${spaces}`))
}
