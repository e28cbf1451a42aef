import type { PlaintextBookmark } from '../bookmark.ts'
import { BookmarkFileError } from '../errors.ts'
import { uuidv7 } from '../uuid.ts'
import { type Attributes, readAttributes } from './attributes.ts'
import { positionAt } from './position.ts'

/** Makes bookmarks of the tags and texts of a file. */
export class Reader {
  readonly bookmarks: PlaintextBookmark[] = []
  #top: Level = { parent: {}, count: 0 }
  #levels: Level[] = []
  #sawList = false
  // The last item read, which a DD describes, and the last folder, which the next DL belongs to.
  #item: PlaintextBookmark | undefined
  #folder: PlaintextBookmark | undefined
  #reading: 'title' | 'description' | undefined
  #text = ''

  open(name: string, attributes: Attributes): void {
    if (name === 'a') this.#addLink(attributes)
    else if (name === 'h3') this.#addFolder(attributes)
    else if (name === 'hr') this.#addSeparator(attributes)
    else if (name === 'dl') this.#enter()
    else if (name === 'dt') this.#finish()
    else if (name === 'dd') this.#startDescription()
    else if (name === 'br' && this.#reading === 'description') this.#text += '\n'
  }

  close(name: string): void {
    if (name === 'dl') this.#leave()
    else if ((name === 'a' || name === 'h3') && this.#reading === 'title') this.#finishTitle(this.#text)
  }

  text(text: string): void {
    if (this.#reading) this.#text += text
  }

  end(): void {
    this.#finish()
    if (!this.#sawList) throw new BookmarkFileError('This is not a bookmark file: it has no list of bookmarks')
  }

  get #level(): Level {
    return this.#levels.at(-1) ?? this.#top
  }

  #addLink({ href = '', ...attributes }: Attributes): void {
    const domain = domainOf(href)
    this.#add({ title: '', url: href, ...(domain && { domain }), ...readAttributes(attributes) })
    this.#reading = 'title'
  }

  #addFolder(attributes: Attributes): void {
    this.#folder = this.#add({ title: '', ...readAttributes(attributes) })
    this.#reading = 'title'
  }

  #addSeparator({ name = '', ...attributes }: Attributes): void {
    this.#add({ title: name, type: 'separator', ...readAttributes(attributes) })
  }

  #add(fields: Omit<PlaintextBookmark, 'id' | 'source'> & { title: string }): PlaintextBookmark {
    this.#finish()
    const level = this.#level
    const place = { ...level.parent, position: positionAt(level.count++) }
    const bookmark: PlaintextBookmark = { id: uuidv7(), ...fields, ...place, source: 'bookmarks' }
    this.bookmarks.push(bookmark)
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
    this.#finish()
    this.#levels.pop()
    this.#item = undefined
    this.#folder = undefined
  }

  #startDescription(): void {
    this.#finish()
    if (this.#item) this.#reading = 'description'
  }

  #finish(): void {
    if (this.#reading === 'title') this.#finishTitle(this.#text.trim())
    else if (this.#reading === 'description') this.#finishDescription()
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
  count: number
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
    count: 0,
  }
}

function domainOf(url: string): string | undefined {
  if (!/^(?:https?|ftp):/i.test(url) || !URL.canParse(url)) return undefined
  return new URL(url).hostname
}
