import { exportFile } from '../../protocol/export-file.ts'
import type { ExportSummary } from '../bookmark.ts'
import { ExportError } from '../errors.ts'

// The most characters held at once: of everything outside the bookmarks, and of one bookmark.
const MAX_ENVELOPE = 65_536
const MAX_ELEMENT = 1_048_576

const [QUOTE, BACKSLASH, OPENING_BRACE, CLOSING_BRACE, OPENING_BRACKET, CLOSING_BRACKET] = [...'"\\{}[]'].map((c) =>
  c.charCodeAt(0),
)

/**
 * Reads the JSON of an export as it arrives, holding one bookmark at a time. It only finds where the elements of
 * `bookmarks` end; JSON.parse parses each of them, and what is around them.
 */
export class ExportJson {
  #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  #depth = 0
  #inString = false
  #escaped = false
  #inBookmarks = false
  #hadBookmarks = false
  #envelope = ''
  #element = ''
  #count = 0

  /** Returns the elements of `bookmarks` that end within these bytes. @throws ExportError `malformed` */
  push(bytes: Uint8Array): object[] {
    return this.#split(this.#decode(bytes))
  }

  /** Must be called at the end of the file. @throws ExportError `malformed`, `unknown-version` */
  end(): ExportSummary {
    this.#decode()
    if (!this.#hadBookmarks || this.#inBookmarks) throw malformed('its bookmarks are missing or incomplete')
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
    if (bookmark_count !== this.#count) {
      throw malformed(`its bookmark_count is ${bookmark_count}, but it contains ${this.#count} bookmarks`)
    }
    return { version, exported_at, bookmark_count: this.#count }
  }

  #decode(bytes?: Uint8Array): string {
    try {
      return this.#decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      throw malformed('it is not UTF-8')
    }
  }

  #split(text: string): object[] {
    const elements: object[] = []
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
        this.#enterBookmarks()
      } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
        this.#depth--
        if (!this.#inBookmarks || this.#depth > 2) continue
        take(this.#depth === 2 ? index + 1 : index)
        if (this.#depth === 2) elements.push(this.#finishElement())
        else this.#leaveBookmarks()
      }
    }
    take(text.length)
    return elements
  }

  #hold(text: string): void {
    if (this.#inBookmarks) this.#element += text
    else this.#envelope += text
    if (this.#element.length > MAX_ELEMENT) throw malformed(`bookmark ${this.#count} is too long`)
    if (this.#envelope.length > MAX_ENVELOPE) throw malformed('there is too much around its bookmarks')
  }

  #enterBookmarks(): void {
    if (!/[{,]\s*"bookmarks"\s*:\s*\[$/.test(this.#envelope)) return
    if (this.#hadBookmarks) throw malformed('it contains `bookmarks` twice')
    this.#hadBookmarks = true
    this.#inBookmarks = true
  }

  #finishElement(): object {
    const comma = (this.#count === 0 ? /^/ : /^[\t\n\r ]*,/).exec(this.#element)
    if (!comma) throw malformed(`there is no comma before bookmark ${this.#count}`)
    const element = parse(this.#element.slice(comma[0].length))
    this.#element = ''
    this.#count++
    return element
  }

  #leaveBookmarks(): void {
    if (/[^\t\n\r ]/.test(this.#element)) throw malformed('its list of bookmarks ends with something else')
    this.#element = ''
    this.#inBookmarks = false
  }
}

/** Finds quotes and backslashes by the platform's search, which is many times as fast as looking at each character. */
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
