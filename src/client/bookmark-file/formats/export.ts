import { isEqual } from '../../bookmark/equal.ts'
import type { OpenedExport, PlaintextBookmark } from '../../bookmark.ts'
import { uuidv7 } from '../../ids.ts'
import type { BookmarkFile } from '../read.ts'
import { isObject } from './json-tree.ts'

/** Writes the bookmarks as the JSON of a decrypted export. Nothing is left out: `readBookmarks` returns the same bookmarks. */
export function writeBookmarkJson(bookmarks: readonly PlaintextBookmark[]): string {
  const exported: OpenedExport = {
    version: '1',
    exported_at: new Date().toISOString(),
    bookmark_count: bookmarks.length,
    bookmarks: [...bookmarks],
  }
  return `${JSON.stringify(exported, null, 2)}\n`
}

/** Reads the bookmarks of a decrypted export. */
export function readExport(listed: readonly unknown[]): BookmarkFile {
  const bookmarks = listed.filter(isBookmark).map(idKeeper())
  return { bookmarks, unread: listed.length - bookmarks.length }
}

/**
 * Gives a new id to a bookmark that differs from an earlier one with the same id: somebody has copied a part of the file
 * and edited it.
 */
export function idKeeper(): (bookmark: PlaintextBookmark) => PlaintextBookmark {
  const known = new Map<string, PlaintextBookmark>()
  return (bookmark) => {
    const first = known.get(bookmark.id) ?? bookmark
    known.set(bookmark.id, first)
    return first === bookmark || isEqual(first, bookmark) ? bookmark : { ...bookmark, id: uuidv7() }
  }
}

/** Checks only that there is an id and no ciphertext: the import reports malformed fields for each bookmark. */
export function isBookmark(value: unknown): value is PlaintextBookmark {
  return isObject(value) && typeof value.id === 'string' && !isCiphertext(value)
}

/** True for a bookmark of an export that was not decrypted. */
export function isCiphertext(value: unknown): boolean {
  return isObject(value) && 'encrypted_data' in value
}
