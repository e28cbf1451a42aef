import type { OpenedExport, PlaintextBookmark } from '../../bookmark.ts'
import type { BookmarkFile } from '../read.ts'
import { isObject } from './json-tree.ts'

/** Writes the bookmarks as the JSON of an opened export. Nothing is left out, and `readBookmarks` reads them back as they are. */
export function writeBookmarkJson(bookmarks: readonly PlaintextBookmark[]): string {
  const exported: OpenedExport = {
    version: '1',
    exported_at: new Date().toISOString(),
    bookmark_count: bookmarks.length,
    bookmarks: [...bookmarks],
  }
  return `${JSON.stringify(exported, null, 2)}\n`
}

/** The bookmarks of such a JSON. */
export function readExport(listed: readonly unknown[]): BookmarkFile {
  const bookmarks = listed.filter(isBookmark)
  return { bookmarks, unread: listed.length - bookmarks.length }
}

/** An import says of each bookmark which of its fields is malformed. Those of an export that nobody opened are ciphertext. */
export function isBookmark(value: unknown): value is PlaintextBookmark {
  return isObject(value) && typeof value.id === 'string' && !('encrypted_data' in value)
}
