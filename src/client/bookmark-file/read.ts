import { generateKeyBetween } from 'fractional-indexing'
import { Tokenizer } from 'htmlparser2'
import type { PlaintextBookmark } from '../bookmark.ts'
import { BookmarkFileError } from '../errors.ts'
import { uuidv7 } from '../ids.ts'
import { paced } from '../timing/paced.ts'
import { type Attributes, readAttributes } from './attributes.ts'

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
 * - Attributes without a field of their own that browsers and services use (PERSONAL_TOOLBAR_FOLDER, SHORTCUTURL, PRIVATE,
 *   LAST_VISIT, DATA-…) are kept in `attributes`, by lower-case name. Others are left out: in a page, they may be code.
 * - `id` is a new UUIDv7 on each reading, `source` is `bookmarks`.
 *
 * Accepts unclosed tags, any case, CRLF and a byte order mark.
 *
 * @param html the text of the file
 * @throws BookmarkFileError if it contains no bookmark list (DL)
 */
export function readBookmarkFile(html: string): PlaintextBookmark[] {
  const reader = new Reader()
  for (const _ of readTags(html, reader));
  return reader.end()
}

/** Like `readBookmarkFile`, but lets the page respond to its user meanwhile. */
export async function readBookmarkFileAsync(html: string): Promise<PlaintextBookmark[]> {
  const reader = new Reader()
  await paced(readTags(html, reader), () => {})
  return reader.end()
}

/** Makes bookmarks of the tags and texts of a file. */
class Reader {
  readonly #bookmarks: PlaintextBookmark[] = []
  #top: Level = { parent: {}, last: null }
  #levels: Level[] = []
  #sawList = false
  // The last item read, which a DD describes, and the last folder, which the next DL belongs to.
  #item: PlaintextBookmark | undefined
  #folder: PlaintextBookmark | undefined
  /** The tag whose text is read: a title or a description. */
  #reading: 'a' | 'h3' | 'dd' | undefined
  #text = ''

  open(name: string, attributes: Attributes): void {
    if (name === 'a') this.#addLink(attributes)
    else if (name === 'h3') this.#addFolder(attributes)
    else if (name === 'hr') this.#addSeparator(attributes)
    else if (name === 'dl') this.#enter()
    else if (name === 'dt') this.#finish()
    else if (name === 'dd') this.#startDescription()
    else if (name === 'br' && this.#reading === 'dd') this.#text += '\n'
  }

  close(name: string): void {
    if (name === 'dl') this.#leave()
    else if ((name === 'a' || name === 'h3') && this.#reading === name) this.#finishTitle(this.#text)
  }

  text(text: string): void {
    if (this.#reading) this.#text += text
  }

  end(): PlaintextBookmark[] {
    this.#finish()
    if (!this.#sawList) throw new BookmarkFileError('This is not a bookmark file')
    return this.#bookmarks
  }

  get #level(): Level {
    return this.#levels.at(-1) ?? this.#top
  }

  #addLink({ href = '', ...attributes }: Attributes): void {
    const domain = domainOf(href)
    this.#add({ title: '', url: href, ...(domain && { domain }), ...readAttributes(attributes) })
    this.#reading = 'a'
  }

  #addFolder(attributes: Attributes): void {
    this.#folder = this.#add({ title: '', ...readAttributes(attributes) })
    this.#reading = 'h3'
  }

  #addSeparator({ name = '', ...attributes }: Attributes): void {
    this.#add({ title: name, type: 'separator', ...readAttributes(attributes) })
  }

  #add(fields: Omit<PlaintextBookmark, 'id' | 'source'> & { title: string }): PlaintextBookmark {
    this.#finish()
    const level = this.#level
    level.last = generateKeyBetween(level.last, null)
    const place = { ...level.parent, position: level.last }
    const bookmark: PlaintextBookmark = { id: uuidv7(), ...fields, ...place, source: 'bookmarks' }
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

  // Spaces after the last line break are the indentation of the next tag.
  #finishDescription(): void {
    const description = this.#text.replace(/\n[ \t]*$/, '')
    if (this.#item && description !== '') this.#item.description = description
    this.#reading = undefined
    this.#text = ''
  }
}

/** A list (DL) and the folder it belongs to. */
interface Level {
  parent: Pick<PlaintextBookmark, 'parentId' | 'folder' | 'path'>
  /** The position of the last item. */
  last: string | null
}

/** Each item repeats what it says of the folders around it: unlimited, a file of deep folders would become gigabytes. */
const longestPath = 4096

function inside({ id, title, path, parentId }: PlaintextBookmark): Level {
  const isBelowLost = parentId !== undefined && path === undefined
  const whole = path === undefined ? title : `${path}/${title}`
  return {
    parent: {
      parentId: id,
      ...(title.length <= longestPath && { folder: title }),
      ...(!isBelowLost && whole.length <= longestPath && { path: whole }),
    },
    last: null,
  }
}

function domainOf(url: string): string | undefined {
  if (!/^(?:https?|ftp):/i.test(url) || !URL.canParse(url)) return undefined
  return new URL(url).hostname
}

/** As much is read without a turn of the page in between. */
const pieceLength = 16_384

/**
 * Reads the tags of HTML, each by itself. A parser would keep the list of those that are open and search it at every tag:
 * of thousands that nobody closes, that takes minutes. The platform's DOMParser repeats an unclosed A in the items that
 * follow, and workers have none.
 *
 * @returns one step for each piece of the text, which can be taken one after the other
 */
function* readTags(html: string, reader: Reader): Generator<void> {
  // A line break is one character, whatever the file has.
  const textOf = (start: number, end: number) => html.slice(start, end).replace(/\r\n?/g, '\n')
  const nameOf = (start: number, end: number) => html.slice(start, end).toLowerCase()
  let [tag, name, value] = ['', '', '']
  let attributes: Attributes = {}
  const open = () => reader.open(tag, attributes)
  const nothing = () => {}
  const tokenizer = new Tokenizer(
    {},
    {
      onopentagname(start, end) {
        tag = nameOf(start, end)
        attributes = {}
      },
      onattribname(start, end) {
        name = nameOf(start, end)
        value = ''
      },
      onattribdata(start, end) {
        value += textOf(start, end)
      },
      onattribentity(code) {
        value += String.fromCodePoint(code)
      },
      onattribend() {
        if (!Object.hasOwn(attributes, name)) attributes[name] = value
      },
      onopentagend: open,
      onselfclosingtag: open,
      onclosetag: (start, end) => reader.close(nameOf(start, end)),
      ontext: (start, end) => reader.text(textOf(start, end)),
      ontextentity: (code) => reader.text(String.fromCodePoint(code)),
      oncdata: nothing,
      oncomment: nothing,
      ondeclaration: nothing,
      onprocessinginstruction: nothing,
      onend: nothing,
    },
  )
  for (let start = 0, end = 0; start < html.length; start = end) {
    end = start + pieceLength
    // CRLF is one line break.
    while (html[end - 1] === '\r') end++
    tokenizer.write(html.slice(start, end))
    yield
  }
  tokenizer.end()
}
