import { kindOf } from '../bookmark/tree.ts'
import type { PlaintextBookmark } from '../bookmark.ts'
import { paced } from '../timing/paced.ts'
import { arrange } from './arrange.ts'
import { writeAttributes } from './attributes.ts'

/**
 * Opened as a page, the file must only show links, so this policy comes before all content. Bookmarklets stay, for browsers
 * that import the file, but do not run in the page.
 */
const policy = "default-src 'none'; base-uri 'none'; form-action 'none'"

const HEAD = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- This is an automatically generated file.
     It will be read and overwritten.
     DO NOT EDIT! -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<META HTTP-EQUIV="Content-Security-Policy" CONTENT="${policy}">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
`

/**
 * Writes a Netscape bookmark file, which browsers import. `readBookmarkFile` reads it back with the same folders, order,
 * titles, addresses, dates (to the second), tags without commas, icons and descriptions. Save it as UTF-8.
 *
 * `parentId` and `position` decide where a bookmark goes, not the order of the array. A bookmark without `url` is a
 * folder, unless its `type` is `separator`. Of the `attributes`, the file has those that `readBookmarkFile` keeps. No
 * bookmark is left out: those without a parent folder go to the top level, and so does the first in a cycle of folders.
 */
export function writeBookmarkFile(bookmarks: readonly PlaintextBookmark[]): string {
  return toFile([...writeLines(bookmarks)])
}

/** Like `writeBookmarkFile`, but keeps the page responsive. */
export async function writeBookmarkFileAsync(bookmarks: readonly PlaintextBookmark[]): Promise<string> {
  const lines: string[] = []
  await paced(writeLines(bookmarks), (line) => lines.push(line))
  return toFile(lines)
}

function toFile(lines: readonly string[]): string {
  return `${HEAD}${lines.join('')}</DL><p>\n`
}

function* writeLines(bookmarks: readonly PlaintextBookmark[]): Generator<string> {
  const contents = arrange(bookmarks)
  // A stack instead of recursion, which would overflow on deeply nested folders.
  const pending: (PlaintextBookmark | typeof END)[] = reversed(contents.get(undefined))
  let depth = 1
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (next === END) depth--
    const indent = indentation(depth)
    if (next === END) {
      yield `${indent}</DL><p>\n`
      continue
    }
    yield `${indent}${writeItem(next)}\n`
    if (next.description) yield `${indent}<DD>${escapeText(next.description)}\n`
    if (kindOf(next) !== 'folder') continue
    yield `${indent}<DL><p>\n`
    pending.push(END)
    for (const child of reversed(contents.get(next))) pending.push(child)
    // If the same object is listed twice, its contents follow only once.
    contents.delete(next)
    depth++
  }
}

const END = Symbol('end of a list')

function reversed(bookmarks: readonly PlaintextBookmark[] = []): PlaintextBookmark[] {
  return bookmarks.toReversed()
}

function writeItem(bookmark: PlaintextBookmark): string {
  const attributes = writeAttributes(bookmark)
  const title = bookmark.title ?? ''
  if (kindOf(bookmark) === 'separator') return tag('HR', { ...attributes, ...(title && { name: title }) })
  if (kindOf(bookmark) === 'folder') return `<DT>${tag('H3', attributes)}${escapeLine(title)}</H3>`
  return `<DT>${tag('A', { href: bookmark.url ?? '', ...attributes })}${escapeLine(title)}</A>`
}

function tag(name: string, attributes: Record<string, string>): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key.toUpperCase()}="${escapeLine(value)}"`)
  return `<${name}${written.join('')}>`
}

// At most 16 levels: otherwise, in deep folders, indentation would be most of the file.
function indentation(depth: number): string {
  return '    '.repeat(Math.min(depth, 16))
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes text of several lines. Fields may have any value, because other clients can write them. */
function escapeText(text: unknown): string {
  return typeof text !== 'string' ? '' : text.replace(/[&<>"'\r]/g, (character) => ENTITIES[character] ?? '&#13;')
}

/** Escapes titles and attributes, which must stay on one line: Chromium reads the file line by line. */
function escapeLine(text: unknown): string {
  return escapeText(text).replace(/[\t\n]/g, (character) => `&#${character.charCodeAt(0)};`)
}
