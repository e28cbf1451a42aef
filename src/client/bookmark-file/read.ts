import type { PlaintextBookmark } from '../bookmark.ts'
import { BookmarkFileError } from '../errors.ts'
import { paced } from '../timing/paced.ts'
import type { Attributes } from './attributes.ts'
import { decodeFile } from './decode.ts'
import { addItem, asSeparator, type Item, inside, type Level, topLevel } from './place.ts'
import { countDamagedLinks, decodeText, readTags, type TagReader } from './tags.ts'

/**
 * Reads a Netscape bookmark file, the format that browsers export.
 *
 * - Folders (H3) become bookmarks without `url`. Their contents refer to them in `parentId`, `folder` (title) and `path`
 *   (the titles of all folders above, joined by `/`). Bookmarks at the top level have none of the three.
 *   A `folder` or `path` of more than 4,096 characters is left out.
 * - `position` is the order within the folder. The array is in the order of the file, folders before their contents.
 * - `dateAdded`, `dateModified`: ISO 8601 in whole seconds, from ADD_DATE and LAST_MODIFIED. `tags` from TAGS,
 *   `favicon` from ICON or else ICON_URI, `description` from DD with its line breaks, `domain` from web addresses.
 * - Separators (HR, and the links that Vivaldi writes instead) become bookmarks with `type: 'separator'` and without `url`.
 * - Links without an address are left out, and counted in `unread`.
 * - Attributes of browsers and services that no field holds (PERSONAL_TOOLBAR_FOLDER, SHORTCUTURL, PRIVATE, LAST_VISIT,
 *   DATA-…) are kept in `attributes`, by lower-case name. Others are left out: in a page, they may be code.
 * - `id` is `file-` and a UUIDv7, new at each reading; `importBookmarks` replaces it. `source` is `bookmarks`.
 *
 * Accepts unclosed tags and quotes, any case, CRLF. Elements that bookmark files do not have are text, such as an unescaped
 * `<script>` in a title, and so is a link in a description. Also reads the pages that Pocket and Instapaper exported.
 *
 * @param input the file's bytes, in UTF-8, UTF-16 with a byte order mark, or the charset that its META names; or its text
 * @throws BookmarkFileError the file has neither a bookmark file's first line, nor a list (DL), nor a link in a DT
 */
export function readBookmarkFile(input: string | Uint8Array): BookmarkFile {
  const html = decodeFile(input)
  const reader = new Reader(html)
  for (const _ of readTags(html, reader));
  return reader.end()
}

/** Like `readBookmarkFile`, but keeps the page responsive. */
export async function readBookmarkFileAsync(input: string | Uint8Array): Promise<BookmarkFile> {
  const html = decodeFile(input)
  const reader = new Reader(html)
  await paced(readTags(html, reader), () => {})
  return reader.end()
}

/** The contents of a bookmark file. */
export interface BookmarkFile {
  bookmarks: PlaintextBookmark[]
  /** How many more links or items the file seems to have, which have no address or are damaged. */
  unread: number
  /** The beginnings of damaged CSV rows, which were left out or may have been read wrongly. */
  damaged?: string[]
}

/** Makes bookmarks from the tags and texts of a file. */
class Reader implements TagReader {
  /** The number of links that a search for link tags finds, even damaged ones. */
  readonly #links: number
  /** False for a file without DT tags: there, a link or folder at the start of a line ends a description. */
  readonly #hasItems: boolean
  #sawList: boolean
  readonly #bookmarks: PlaintextBookmark[] = []
  #top = topLevel()
  #levels: Level[] = []
  // The last item, which a following DD describes, and the last folder, to which a following DL belongs.
  #item: PlaintextBookmark | undefined
  #folder: PlaintextBookmark | undefined
  /** The tag whose title or description is being read. */
  #reading: 'a' | 'h3' | 'dd' | undefined
  #text = ''
  /** The depth of lists within a description, where they are text. */
  #listsInside = 0

  constructor(html: string) {
    this.#links = countDamagedLinks(html)
    this.#hasItems = /<dt[\s>]/i.test(html)
    // Old files have links without a list around them.
    this.#sawList = /^\s*<!DOCTYPE NETSCAPE/i.test(html) || this.#links > 0
  }

  get isReading(): boolean {
    return this.#reading !== undefined
  }

  open(name: string, attributes: Attributes, begins: boolean): void {
    if (name === 'br' && this.isReading) this.#text += this.#reading === 'dd' ? '\n' : ' '
    else if (this.#isText(name, attributes, begins)) {
      if (name === 'dl') this.#listsInside++
    } else if (name === 'a') this.#addLink(attributes)
    else if (name === 'h3') this.#addFolder(attributes)
    else if (name === 'hr') this.#addSeparator(attributes)
    else if (name === 'dl') this.#enter()
    else if (name === 'dt') this.#finish()
    else if (name === 'dd') this.#startDescription()
  }

  /** True if the tag belongs to the text of the current title or description. */
  #isText(name: string, { href }: Attributes, begins: boolean): boolean {
    const isItem = name === 'a' || name === 'h3'
    if (this.#reading === 'dd') {
      if (name === 'dt' || name === 'hr') return !begins && (name === 'hr' || this.#listsInside > 0)
      if (name === 'dl') return !begins && this.#folder === undefined
      return !(isItem && begins && !this.#hasItems)
    }
    if (name === 'a' && this.#reading === 'a') return !begins && href === undefined
    return (isItem || name === 'hr') && this.isReading && !begins
  }

  close(name: string): void {
    if (name === 'dl' && this.#listsInside > 0) this.#listsInside--
    else if (name === 'dl') this.#leave()
    else if (name === 'dd' && this.#reading === 'dd' && this.#listsInside === 0) this.#finish()
    else if ((name === 'a' || name === 'h3') && this.#reading === name) this.#finishTitle(this.#text)
  }

  text(text: string): void {
    if (this.#reading) this.#text += decodeText(text)
  }

  end(): BookmarkFile {
    this.#finish()
    if (!this.#sawList) throw new BookmarkFileError('unknown', 'This is not a bookmark file')
    const found = this.#bookmarks.filter(({ url }) => url !== '')
    const links = found.filter(({ url }) => url !== undefined).length
    const withoutAddress = this.#bookmarks.length - found.length
    return { bookmarks: found.map(asSeparator), unread: Math.max(withoutAddress, this.#links - links) }
  }

  get #level(): Level {
    return this.#levels.at(-1) ?? this.#top
  }

  #addLink({ href = '', ...attributes }: Attributes): void {
    const { last } = this.#level
    const { url } = this.#add({ title: '', url: href, attributes })
    // `end` leaves out a link without an address, so it does not take up a position.
    if (url === '') this.#level.last = last
    this.#reading = 'a'
  }

  #addFolder(attributes: Attributes): void {
    this.#folder = this.#add({ title: '', attributes })
    this.#reading = 'h3'
  }

  #addSeparator({ name = '', ...attributes }: Attributes): void {
    this.#add({ title: name, type: 'separator', attributes })
  }

  #add(item: Item): PlaintextBookmark {
    this.#finish()
    const bookmark = addItem(this.#level, item)
    this.#bookmarks.push(bookmark)
    this.#item = bookmark
    this.#folder = undefined
    return bookmark
  }

  #enter(): void {
    this.#finish()
    this.#sawList = true
    this.#levels.push(this.#folder ? inside(this.#folder) : this.#level)
    this.#item = undefined
    this.#folder = undefined
  }

  #leave(): void {
    if (this.#levels.length === 0) return
    this.#finish()
    this.#levels.pop()
    this.#item = undefined
    this.#folder = undefined
  }

  #startDescription(): void {
    this.#finish()
    if (this.#item) this.#reading = 'dd'
  }

  #finish(): void {
    if (this.#reading === 'dd') this.#finishDescription()
    else if (this.#reading) this.#finishTitle(this.#text.trim())
  }

  #finishTitle(title: string): void {
    if (this.#item) this.#item.title = title
    this.#reading = undefined
    this.#text = ''
  }

  // Spaces after the last line break indent the next tag.
  #finishDescription(): void {
    const description = withNotes(this.#text.replace(/\n[ \t]*$/, ''))
    if (this.#item && description !== '') this.#item.description = description
    this.#reading = undefined
    this.#text = ''
    this.#listsInside = 0
  }
}

const notes = ['[linkding-notes]', '[/linkding-notes]'] as const

/** Appends linkding's notes, which follow the description, as a paragraph. */
function withNotes(text: string): string {
  const at = text.indexOf(notes[0])
  if (at === -1 || !text.endsWith(notes[1])) return text
  const paragraphs = [text.slice(0, at), text.slice(at + notes[0].length, -notes[1].length)]
  return paragraphs.flatMap((paragraph) => paragraph.trim() || []).join('\n\n')
}
