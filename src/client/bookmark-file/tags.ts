import { decodeHTML, decodeHTMLAttribute } from 'entities/decode'
import type { Attributes } from './attributes.ts'

/** Receives the tags and texts of a file in order. */
export interface TagReader {
  /** True inside a title or description, where an HTML comment is text. */
  readonly isReading: boolean
  /**
   * @param begins true if the tag starts a line, or is a DT before a link or folder: then it is markup, even within a
   * title or description
   */
  open(name: string, attributes: Attributes, begins: boolean): void
  close(name: string): void
  /** @param text with entities: `decodeText` decodes them */
  text(text: string): void
}

/** The tags of bookmark files. Others come from unescaped titles, and are text. */
const elements = new Set(['a', 'blockquote', 'br', 'dd', 'dl', 'dt', 'h1', 'h3', 'hr', 'p'])
const headElements = new Set(['html', 'head', 'title', 'meta', 'body'])
/** Maps the tags of Pocket's and Instapaper's files to those of bookmark files. */
const ofReadingLists: Readonly<Record<string, string>> = { h1: 'h3', ul: 'dl', ol: 'dl', li: 'dt' }
export const isReadingList = /<title>(?:pocket export|instapaper: export)<\/title>/i
/** A reading list is recognized by its title within this many characters. */
const headLength = 4096

/** These tags are text if they stand between words of a title or description: “the <p> element”. */
const nameable = new Set(['dd', 'dl', 'dt', 'h1', 'h3', 'hr', 'p'])

/** How many characters are read between two pauses, in which the page can handle other events. */
const pieceLength = 16_384
/** The most attributes of a tag, quotes of a value and characters of a bookmarklet: limits the time for unclosed tags. */
const [mostAttributes, mostQuotes, longestProgram] = [256, 8, 65_536]

/** The start of an item, even within a tag or quote that was left open. */
const itemStart = /[\n\r][ \t]*<dt[\s>]/gi
const startsLine = /(?:^|[\n\r])[ \t]*$/
const itemFollows = /\s*<(?:a|h3|hr)[\s>]/iy
const openTag = /<([a-z][a-z0-9]{0,9})(?=[\s/>])/iy
const closeTag = /<\/([a-z][a-z0-9]{0,9})\s*>/iy
const commentEnd = /-->/g
const betweenAttributes = /[\s/"']*/y
const attributeName = /[^\s"'<>/=]+/y
const equalsSign = /\s*=\s*/y
const unquoted = /[^\s<>]*/y
const beforeName = /[\s("'“„‘`]/
const afterName = /[.,;:!?)"'”’`]|[ \t]+[^\s<]|[ \t]*<\/(?:a|h3)>/iy
const linkEnd = /<\/a>[ \t]*(?=$|[\n\r]|<\/?(?:d[dlt]|p|hr|br)[\s>])/gi
const program = /(["'])\s*(?:javascript|data):/iy
const restOfTag = /(?:\s+[\w-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+)){0,32}\s*>/y
const nextAttribute = /[\s/>]|$|[a-z_-]+=/iy
const attributeBegins = /\s[a-z_-]+\s*=\s*$/i

/**
 * Reads the tags of a bookmark file, and yields regularly, so that the caller can pause. An HTML parser would take an
 * unescaped `<script>` or `<!--` for markup that swallows the rest, and an unclosed A for one that contains everything
 * after it. It would also be slow, because it searches its open elements at each tag.
 */
export function* readTags(html: string, reader: TagReader): Generator<void> {
  let [textStart, pieceEnd, isHead] = [0, pieceLength, true]
  const aliases = isReadingList.test(html.slice(0, headLength)) ? ofReadingLists : {}
  const nextItem = finderOf(itemStart, html)
  const nextCommentEnd = finderOf(commentEnd, html)
  const readProgram = programReader(html, nextItem)
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at)) {
    if (at > pieceEnd) {
      yield
      pieceEnd = at + pieceLength
    }
    const end = readComment(at) ?? readTag(at)
    if (end !== undefined) textStart = end
    at = end ?? at + 1
  }
  reader.text(html.slice(textStart))

  function readTag(at: number): number | undefined {
    const closed = matchAt(closeTag, html, at)
    const [whole = '', name = ''] = closed ?? matchAt(openTag, html, at) ?? []
    const lower = name.toLowerCase()
    const element = Object.hasOwn(aliases, lower) ? (aliases[lower] as string) : lower
    if (!elements.has(element) && !(isHead && headElements.has(element))) return undefined
    const tag = closed ? { end: at + whole.length } : attributesAt(html, at + whole.length, nextItem, readProgram)
    if (!tag || (reader.isReading && isNamed(element, at, tag.end, closed !== null))) return undefined
    if (element === 'dl' || element === 'dt') isHead = false
    reader.text(html.slice(textStart, at))
    if ('attributes' in tag) reader.open(element, tag.attributes, begins(element, at, tag.end))
    else reader.close(element)
    return tag.end
  }

  function isNamed(name: string, at: number, end: number, isEnd: boolean): boolean {
    const isWord = beforeName.test(html.charAt(at - 1)) && matchAt(afterName, html, end) !== null
    return isWord && nameable.has(name) && !(isEnd ? name === 'h3' || startsLineAt(at) : begins(name, at, end))
  }

  function begins(name: string, at: number, end: number): boolean {
    return (name === 'dt' && matchAt(itemFollows, html, end) !== null) || startsLineAt(at)
  }

  function startsLineAt(at: number): boolean {
    // Indentation of 256 characters or more also counts as the start of a line.
    return startsLine.test(html.slice(Math.max(0, at - 256), at))
  }

  function readComment(at: number): number | undefined {
    if (reader.isReading || !html.startsWith('<!--', at)) return undefined
    const end = nextCommentEnd(at)
    return end < nextItem(at) ? end + '-->'.length : undefined
  }
}

/** Counts the items that are links. */
export function countLinks(html: string): number {
  return html.match(/<dt>\s*<a\s/gi)?.length ?? 0
}

const linkStart = '<dt><a href='
/** One pattern for each character of `linkStart`, which may be missing, wrong, or followed by another one. */
const damagedLinks = [...linkStart].map((_, at) => `${linkStart.slice(0, at)}[^]{0,2}${linkStart.slice(at + 1)}`)
// A link at the start of a description (DD) is not an item.
const anyLink = new RegExp(`[\\n\\r][ \\t]*(?!<dd>)(?:${damagedLinks.join('|')})|<dt>\\s*<a\\s`, 'gi')

/** Counts links, including those with damaged tags, which cannot be read. */
export function countDamagedLinks(html: string): number {
  return html.match(anyLink)?.length ?? 0
}

/** Decodes entities, and makes each line break one LF. linkding's lines end in LF CR. */
export function decodeText(text: string): string {
  return decodeHTML(toLines(text))
}

function toLines(text: string): string {
  return text.includes('\r') ? text.replace(/\r\n|\n\r(?!\n)|\r/g, '\n') : text
}

/** Reads a tag's attributes. Undefined if the tag is never closed, or has too many: then it is text. */
function attributesAt(
  html: string,
  start: number,
  nextItem: Finder,
  readProgram: ValueReader,
): { attributes: Attributes; end: number } | undefined {
  const attributes: Attributes = {}
  let at = start
  for (let count = 0; count < mostAttributes; count++) {
    at = endOf(betweenAttributes, html, at)
    const next = html[at]
    if (next === '>') return { attributes, end: at + 1 }
    if (next === undefined || next === '<') return undefined
    const nameEnd = endOf(attributeName, html, at)
    const name = html.slice(at, nameEnd).toLowerCase()
    const valueStart = endOf(equalsSign, html, nameEnd)
    at = Math.max(valueStart, at + 1)
    let value = ''
    if (valueStart > nameEnd) [value, at] = readProgram(valueStart) ?? valueAt(html, valueStart, nextItem)
    if (name && !Object.hasOwn(attributes, name)) attributes[name] = decodeHTMLAttribute(toLines(value))
  }
  return undefined
}

/** Reads an attribute's value that begins at `start`, and finds its end. Undefined if the reader is for other values. */
type ValueReader = (start: number) => [value: string, end: number] | undefined

/** Reads the address of a bookmarklet: a program that may contain unescaped quotes, with anything after them. */
function programReader(html: string, nextItem: Finder): ValueReader {
  const nextLinkEnd = finderOf(linkEnd, html)
  // For each kind of quote, the end of the link in which no closing quote was found, so that nothing is searched twice.
  const searched: Record<string, number> = {}
  return (start) => {
    const [, quote] = matchAt(program, html, start) ?? []
    if (quote === undefined) return undefined
    const end = nextLinkEnd(start)
    if (end >= Math.min(nextItem(start), start + longestProgram)) return undefined
    const first = html.indexOf(quote, start + 1)
    if (matchAt(restOfTag, html, first + 1) && !/["']/.test(html.charAt(restOfTag.lastIndex)))
      return [html.slice(start + 1, first), first + 1]
    if (searched[quote] === end) return undefined
    const title = lastTitle(start, end)
    for (let at = first; at !== -1 && at < title; at = html.indexOf(quote, at + 1))
      if (matchAt(restOfTag, html, at + 1) && restOfTag.lastIndex === title) return [html.slice(start + 1, at), at + 1]
    searched[quote] = end
    return undefined
  }

  /** The start of the link's title: the position after the last `>` that follows a quote. */
  function lastTitle(start: number, end: number): number {
    let at = html.lastIndexOf('>', end - 1)
    while (at > start && !/["']/.test(html.slice(start, at).trimEnd().slice(-1))) at = html.lastIndexOf('>', at - 1)
    return at + 1
  }
}

/** Reads an attribute's value. Unescaped quotes belong to the value; without a closing quote, it ends with its first word. */
function valueAt(html: string, start: number, nextItem: Finder): [value: string, end: number] {
  const quote = html[start] as string
  const wordAt = (at: number): [string, number] => [html.slice(at, endOf(unquoted, html, at)), unquoted.lastIndex]
  if (quote !== '"' && quote !== "'") return wordAt(start)
  let [from, first] = [start + 1, -1]
  for (let count = 0; count < mostQuotes; count++) {
    const at = html.indexOf(quote, from)
    if (at === -1 || at > nextItem(start)) break
    const between = html.slice(from, at)
    if (first === -1) first = at
    else if (between.includes('\n')) break
    if (matchAt(nextAttribute, html, at + 1)) return [html.slice(start + 1, at), at + 1]
    const inside = attributeBegins.exec(between.slice(-64))
    if (inside) {
      const end = at - between.slice(-64).length + inside.index
      return [html.slice(start + 1, end), end]
    }
    from = at + 1
  }
  return first === -1 ? wordAt(start + 1) : [html.slice(start + 1, first), first + 1]
}

/** Finds the next match from a position on; Infinity if there is none. */
type Finder = (from: number) => number

/** The finder remembers its result, because unclosed tags and comments would cause the same search again and again. */
function finderOf(pattern: RegExp, text: string): Finder {
  let [searchedFrom, found] = [0, -1]
  return (from) => {
    if (from >= searchedFrom && from <= found) return found
    searchedFrom = from
    found = matchAt(pattern, text, from)?.index ?? Number.POSITIVE_INFINITY
    return found
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** The end of a match that begins at `at`; `at` if there is none. */
function endOf(pattern: RegExp, text: string, at: number): number {
  return matchAt(pattern, text, at) ? pattern.lastIndex : at
}
