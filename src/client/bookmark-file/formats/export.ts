import { isEqual } from '../../bookmark/equal.ts'
import type { OpenedExport, PlaintextBookmark } from '../../bookmark.ts'
import { uuidv7 } from '../../ids.ts'
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

/** Reads the bookmarks of an opened export. */
export function readExport(listed: readonly unknown[]): BookmarkFile {
  const bookmarks = listed.filter(isBookmark).map(idKeeper())
  return { bookmarks, unread: listed.length - bookmarks.length }
}

/**
 * Gives a new id to a bookmark that differs from an earlier one with the same id: somebody copied a row or an entry and
 * edited it.
 */
export function idKeeper(): (bookmark: PlaintextBookmark) => PlaintextBookmark {
  const known = new Map<string, PlaintextBookmark>()
  return (bookmark) => {
    const first = known.get(bookmark.id) ?? bookmark
    known.set(bookmark.id, first)
    return first === bookmark || isEqual(first, bookmark) ? bookmark : { ...bookmark, id: uuidv7() }
  }
}

/** Checks only the basics: the import reports malformed fields per bookmark. */
export function isBookmark(value: unknown): value is PlaintextBookmark {
  return isObject(value) && typeof value.id === 'string' && !isCiphertext(value)
}

/** True for a bookmark of an undecrypted export. */
export function isCiphertext(value: unknown): boolean {
  return isObject(value) && 'encrypted_data' in value
}
