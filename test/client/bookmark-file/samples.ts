import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { type BookmarkFile, readBookmarkFile } from '../../../src/client/bookmark-file/read.ts'
import { deriveId, type IdSource } from '../../../src/client/crypto/derived-id.ts'
import { deriveKeys } from '../../../src/client/crypto/keys.ts'

const FOLDER = new URL('../../fixtures/bookmarks/', import.meta.url)

/** The names of the sample files of browsers and services. */
export const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.htm'))

export function readSample(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8')
}

/** The bookmarks of a file that must be read completely. */
export function bookmarksIn(input: string | Uint8Array): PlaintextBookmark[] {
  const { bookmarks, unread } = readBookmarkFile(input)
  assert.equal(unread, 0)
  return bookmarks
}

const keys = deriveKeys(new Uint8Array(32))

/** The source of ids for an import into a vault that already has these bookmarks. */
export function idsBeside(existing: readonly PlaintextBookmark[]): IdSource {
  const taken = new Set(existing.map(({ id }) => id))
  return { derive: (likeness) => deriveId(keys, likeness), isTaken: (id) => taken.has(id) }
}

/** One line per item, indented by depth. */
export function linesOf({ bookmarks, unread }: BookmarkFile): string[] {
  const depths = new Map<string | undefined, number>([[undefined, 0]])
  const lines = bookmarks.map(({ id, parentId, type, title, url, dateAdded, tags, description }) => {
    const depth = depths.get(parentId) ?? Number.NaN
    depths.set(id, depth + 1)
    const kind = type === 'separator' ? '---' : url === undefined ? 'folder' : url
    const details = [title, kind, dateAdded, tags && `#${tags.join(' #')}`, description]
    return '  '.repeat(depth) + JSON.stringify(details.filter((detail) => detail !== undefined))
  })
  return unread > 0 ? [...lines, `unread: ${unread}`] : lines
}

/** The fields that writing and reading must keep, with the titles of the folders above instead of `parentId`. */
export function sequenceOf(bookmarks: readonly PlaintextBookmark[]) {
  const byId = new Map(bookmarks.map((bookmark) => [bookmark.id, bookmark]))
  const folders = new Map<PlaintextBookmark, readonly string[]>()
  return bookmarks.map((bookmark) => {
    const parent = byId.get(bookmark.parentId ?? '')
    const above = parent ? [...(folders.get(parent) ?? []), parent.title] : []
    folders.set(bookmark, above)
    return {
      above,
      title: bookmark.title,
      url: bookmark.url,
      type: bookmark.type,
      dateAdded: bookmark.dateAdded,
      dateModified: bookmark.dateModified,
      tags: bookmark.tags,
      favicon: bookmark.favicon,
      description: bookmark.description,
      attributes: bookmark.attributes,
      position: bookmark.position,
    }
  })
}

export function folder(id: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark {
  return { id, title: id, source: 'bookmarks', ...fields }
}

export function link(id: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark {
  return folder(id, { url: `https://example.org/${id}`, ...fields })
}
