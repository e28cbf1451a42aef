import { Parser } from 'htmlparser2'
import type { PlaintextBookmark } from '../bookmark.ts'
import { paced } from '../timing/paced.ts'
import { Reader } from './reader.ts'

/** As much is read without a turn of the page in between. */
const pieceLength = 16_384

/**
 * Reads a Netscape bookmark file, the format that every browser exports.
 *
 * - Folders (H3) become bookmarks without `url`. Their contents refer to them in `parentId`, `folder` (title) and `path`
 *   (the titles of all folders above, joined by `/`). Bookmarks at the top level have none of the three.
 *   A title or path of more than 4,096 characters is left out.
 * - `position` is the order within the folder. The array is in the order of the file, folders before their contents.
 * - `dateAdded`, `dateModified`: ISO 8601 in whole seconds, from ADD_DATE and LAST_MODIFIED. `tags` from TAGS,
 *   `favicon` from ICON or else ICON_URI, `description` from DD with its line breaks, `domain` from web addresses.
 * - Separators (HR) become `{type: 'separator', title: ''}` without `url`.
 * - Attributes without a field of their own (PERSONAL_TOOLBAR_FOLDER, SHORTCUTURL, PRIVATE, LAST_VISIT, …) are kept in
 *   `attributes`, by lower-case name.
 * - `id` is a new UUIDv7 on each reading, `source` is `bookmarks`.
 *
 * Accepts unclosed tags, any case, CRLF and a byte order mark.
 *
 * @param html the text of the file
 * @throws BookmarkFileError if it contains no bookmark list (DL)
 */
export function readBookmarkFile(html: string): PlaintextBookmark[] {
  const { reader, parser } = startReading()
  parser.end(withPlainBreaks(html))
  return reader.bookmarks
}

/** Like `readBookmarkFile`, but lets the page respond to its user meanwhile. */
export async function readBookmarkFileAsync(html: string): Promise<PlaintextBookmark[]> {
  const { reader, parser } = startReading()
  await paced(piecesOf(html), (piece) => parser.write(withPlainBreaks(piece)))
  parser.end()
  return reader.bookmarks
}

function startReading(): { reader: Reader; parser: Parser } {
  const reader = new Reader()
  // Not by the platform's DOMParser: it repeats an unclosed A in the items that follow, and workers have none.
  const parser = new Parser({
    onopentag: (name, attributes) => reader.open(name, attributes),
    onclosetag: (name, isImplied) => {
      if (!isImplied) reader.close(name)
    },
    ontext: (text) => reader.text(text),
    onend: () => reader.end(),
  })
  return { reader, parser }
}

function withPlainBreaks(html: string): string {
  return html.replace(/\r\n?/g, '\n')
}

function* piecesOf(html: string): Generator<string> {
  for (let start = 0, end = 0; start < html.length; start = end) {
    end = start + pieceLength
    // CRLF is one line break.
    while (html[end - 1] === '\r') end++
    yield html.slice(start, end)
  }
}
