import type { PlaintextBookmark } from '../bookmark.ts'
import { writeAttributes } from './attributes.ts'
import { arrange, kindOf } from './tree.ts'

const HEAD = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- This is an automatically generated file.
     It will be read and overwritten.
     DO NOT EDIT! -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
`

/**
 * Writes a Netscape bookmark file, which every browser imports; `readBookmarkFile` reads it back with the same folders,
 * order, titles, addresses, dates (to the second), tags, icons and descriptions. Save it as UTF-8.
 *
 * `parentId` and `position` decide where a bookmark goes, not the order of the array; a bookmark without `url` is a
 * folder, unless its `type` is `separator`. None is left out: those whose parent is missing, is no folder or is inside
 * themselves go to the top.
 */
export function writeBookmarkFile(bookmarks: readonly PlaintextBookmark[]): string {
  const contents = arrange(bookmarks)
  const lines: string[] = []
  // Ends of lists are stacked beside the bookmarks: folders may be nested deeper than calls can be.
  const pending: (PlaintextBookmark | typeof END)[] = reversed(contents.get(undefined))
  let depth = 1
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (next === END) depth--
    const indent = indentation(depth)
    if (next === END) {
      lines.push(`${indent}</DL><p>\n`)
      continue
    }
    lines.push(`${indent}${writeItem(next)}\n`)
    if (next.description) lines.push(`${indent}<DD>${escapeText(next.description)}\n`)
    if (kindOf(next) !== 'folder') continue
    lines.push(`${indent}<DL><p>\n`)
    pending.push(END)
    for (const child of reversed(contents.get(next))) pending.push(child)
    // A folder that is listed twice has its contents once.
    contents.delete(next)
    depth++
  }
  return `${HEAD}${lines.join('')}</DL><p>\n`
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

// Deep folders would make indentation the largest part of the file.
function indentation(depth: number): string {
  return '    '.repeat(Math.min(depth, 16))
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** For text that may have several lines. */
function escapeText(text: string): string {
  return text.replace(/[&<>"'\r]/g, (character) => ENTITIES[character] ?? '&#13;')
}

/** For titles and attributes: Chromium reads the file line by line. */
function escapeLine(text: string): string {
  return escapeText(text).replace(/[\t\n]/g, (character) => `&#${character.charCodeAt(0)};`)
}
