import { exportFile } from '../../protocol/export-file.ts'
import type { EntityType, ExportSummary } from '../bookmark.ts'
import { ExportError } from '../errors.ts'

/** The lists of an export and their record types. The service's exports have only `bookmarks`. */
export const lists = { bookmarks: 'bookmark', groups: 'group', history: 'history' } as const satisfies Record<
  string,
  EntityType
>

/** An element of one of the lists. */
export interface ExportElement {
  list: keyof typeof lists
  record: object
}

// The most characters in memory: of everything outside the lists, and of one element of a list.
const MAX_ENVELOPE = 65_536
const MAX_ELEMENT = 1_048_576

const [QUOTE, BACKSLASH, OPENING_BRACE, CLOSING_BRACE, OPENING_BRACKET, CLOSING_BRACKET] = [...'"\\{}[]'].map((c) =>
  c.charCodeAt(0),
)

/**
 * Parses an export's JSON as it arrives; keeps only an unfinished record and what is around the lists. Searches only for
 * the ends of list elements, and leaves the rest to JSON.parse.
 */
export class ExportJson {
  #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  #depth = 0
  #inString = false
  #escaped = false
  #list: keyof typeof lists | undefined
  /** The number of elements, by list. */
  readonly #counts = new Map<keyof typeof lists, number>()
  #envelope = ''
  #element = ''

  /** Returns the elements that end within these bytes. @throws ExportError `malformed` */
  push(bytes: Uint8Array): ExportElement[] {
    return this.#split(this.#decode(bytes))
  }

  /** Must be called at the end of the file. @throws ExportError `malformed`, `unknown-version` */
  end(): ExportSummary {
    this.#decode()
    const count = this.#counts.get('bookmarks')
    if (count === undefined || this.#list) throw malformed('its bookmarks are missing or incomplete')
    const { version, exported_at, bookmark_count } = parse(this.#envelope) as Record<string, unknown>
    const { contentVersion } = exportFile
    if (version !== contentVersion) {
      throw new ExportError(
        'unknown-version',
        `The export has version ${version}, which this client does not know: it knows ${contentVersion}`,
      )
    }
    if (typeof exported_at !== 'string' || Number.isNaN(Date.parse(exported_at))) {
      throw malformed('its exported_at is not a date')
    }
    if (bookmark_count !== count) {
      throw malformed(`its bookmark_count is ${bookmark_count}, but it contains ${count} bookmarks`)
    }
    return { version, exported_at, bookmark_count: count }
  }

  #decode(bytes?: Uint8Array): string {
    try {
      return this.#decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      throw malformed('it is not UTF-8')
    }
  }

  #split(text: string): ExportElement[] {
    const elements: ExportElement[] = []
    let start = 0
    const take = (end: number) => {
      this.#hold(text.slice(start, end))
      start = end
    }
    const strings = new StringEnds(text)
    for (let index = 0; index < text.length; index++) {
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false
        else {
          index = strings.next(index)
          this.#escaped = text.charCodeAt(index) === BACKSLASH
          this.#inString = this.#escaped || index === text.length
        }
        continue
      }
      const code = text.charCodeAt(index)
      if (code === QUOTE) this.#inString = true
      else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
        this.#depth++
        if (this.#depth !== 2 || code !== OPENING_BRACKET) continue
        take(index + 1)
        this.#enterList()
      } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
        this.#depth--
        const list = this.#list
        if (!list || this.#depth > 2) continue
        take(this.#depth === 2 ? index + 1 : index)
        if (this.#depth === 2) elements.push({ list, record: this.#finishElement(list) })
        else this.#leaveList(list)
      }
    }
    take(text.length)
    return elements
  }

  #hold(text: string): void {
    if (this.#list) this.#element += text
    else this.#envelope += text
    if (this.#element.length > MAX_ELEMENT) throw malformed(`an element of \`${this.#list}\` is too long`)
    if (this.#envelope.length > MAX_ENVELOPE) throw malformed('there is too much around its bookmarks')
  }

  #enterList(): void {
    const [, name] = /[{,]\s*"(bookmarks|groups|history)"\s*:\s*\[$/.exec(this.#envelope) ?? []
    if (name === undefined) return
    const list = name as keyof typeof lists
    if (this.#counts.has(list)) throw malformed(`it contains \`${list}\` twice`)
    this.#counts.set(list, 0)
    this.#list = list
  }

  #finishElement(list: keyof typeof lists): object {
    const count = this.#counts.get(list) as number
    const comma = (count === 0 ? /^/ : /^[\t\n\r ]*,/).exec(this.#element)
    if (!comma) throw malformed(`there is no comma before element ${count} of \`${list}\``)
    const element = parse(this.#element.slice(comma[0].length))
    this.#element = ''
    this.#counts.set(list, count + 1)
    return element
  }

  #leaveList(list: keyof typeof lists): void {
    if (/[^\t\n\r ]/.test(this.#element)) throw malformed(`its list \`${list}\` ends with something else`)
    this.#element = ''
    this.#list = undefined
  }
}

/** Finds quotes and backslashes with the platform's search, many times as fast as checking each character. */
class StringEnds {
  readonly #text: string
  #backslash = -1
  #quote = -1

  constructor(text: string) {
    this.#text = text
  }

  /** The next quote or backslash, or the end of the text. */
  next(from: number): number {
    if (this.#backslash < from) this.#backslash = this.#find('\\', from)
    if (this.#quote < from) this.#quote = this.#find('"', from)
    return Math.min(this.#backslash, this.#quote)
  }

  #find(character: string, from: number): number {
    const index = this.#text.indexOf(character, from)
    return index === -1 ? this.#text.length : index
  }
}

function parse(json: string): object {
  const value = parseJson(json)
  if (typeof value !== 'object' || value === null) throw malformed('it is not JSON')
  return value
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

function malformed(reason: string): ExportError {
  return new ExportError('malformed', `The content of the export file is malformed: ${reason}`)
}
