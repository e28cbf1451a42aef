/** `encrypted-bookmark-sync-client/bookmark-file`: the Netscape bookmark files that browsers write and read. */
export { type BookmarkFile, readBookmarkFile, readBookmarkFileAsync } from './bookmark-file/read.ts'
export { writeBookmarkFile, writeBookmarkFileAsync } from './bookmark-file/write.ts'
export { BookmarkFileError } from './errors.ts'
