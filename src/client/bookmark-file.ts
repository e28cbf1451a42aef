/** `encrypted-bookmark-sync-client/bookmark-file`: files with bookmarks, to import and to export. */

import type { PlaintextBookmark } from './bookmark.ts'

export { writeBookmarkJson } from './bookmark-file/formats/export.ts'
export { type BookmarkFile, readBookmarkFile, readBookmarkFileAsync } from './bookmark-file/read.ts'
export { type BookmarkFormat, type ReadBookmarks, readBookmarks } from './bookmark-file/read-bookmarks.ts'
export { writeBookmarkFile, writeBookmarkFileAsync } from './bookmark-file/write.ts'
export { BookmarkFileError, type BookmarkFileFault } from './errors.ts'

/**
 * Writes CSV (RFC 4180, with a byte order mark for spreadsheets): one row per bookmark, folder or separator, in the order
 * of the tree. The header is `url,title,note,folder,tags,created,modified,more`; `more` is JSON with everything that the
 * other columns cannot hold. `readBookmarks` returns the same bookmarks again.
 */
export async function writeBookmarkCsv(bookmarks: readonly PlaintextBookmark[]): Promise<string> {
  const { writeCsv } = await import('./bookmark-file/formats/csv.ts')
  return writeCsv(bookmarks)
}
