/** A row of CSV. */
export interface CsvRow {
  cells: string[]
  /** As it is in the file. */
  line: string
  /** True if it has a quote where CSV has none: perhaps its cells are meant to end elsewhere. */
  isDamaged: boolean
}

/**
 * Reads CSV (RFC 4180) with line breaks of any kind. Blank rows are left out.
 *
 * A quote that nobody doubled is a part of its cell. An opening quote that nobody closes is one, too, so that it does not
 * swallow the rows behind it: a cell has several lines only if all of its quotes are as they should be.
 */
export function* readRows(text: string, delimiter: string): Generator<CsvRow, undefined> {
  const openingQuote = / *"/y
  const unquoted = new RegExp(`[^${delimiter}\\r\\n]*`, 'y')
  const restOfCell = new RegExp(`[ \\t]*(?=[${delimiter}\\r\\n]|$)`, 'y')
  const lineBreak = /\r\n?|\n/y
  let [at, lineEnd, isDamaged] = [0, -1, false]

  while (at < text.length) {
    const start = at
    isDamaged = false
    const cells = [readCell()]
    while (text[at] === delimiter) {
      at++
      cells.push(readCell())
    }
    const line = text.slice(start, at)
    at = endOf(lineBreak, at)
    if (cells.some((cell) => cell.trim() !== '')) yield { cells, line, isDamaged }
  }

  function readCell(): string {
    const start = at
    const quoted = readQuoted(endOf(openingQuote, at))
    if (quoted !== undefined) return quoted
    at = endOf(unquoted, start)
    return text.slice(start, at)
  }

  /** Undefined if the cell is none with quotes. */
  function readQuoted(start: number): string | undefined {
    if (start === at) return undefined
    let hasStrayQuote = false
    for (let quote = text.indexOf('"', start); quote !== -1; quote = text.indexOf('"', quote + 1)) {
      if (hasStrayQuote && quote > lineEnd) break
      const end = endOf(restOfCell, quote + 1, -1)
      if (text[quote + 1] === '"') quote++
      else if (end !== -1) {
        isDamaged ||= hasStrayQuote
        at = end
        return text.slice(start, quote).replaceAll('""', '"')
      } else {
        hasStrayQuote = true
        if (lineEnd < start) lineEnd = nextLineEnd(start)
        if (quote > lineEnd) break
      }
    }
    isDamaged = true
    return undefined
  }

  function nextLineEnd(from: number): number {
    const found = text.slice(from).search(/[\r\n]/)
    return found === -1 ? text.length : from + found
  }

  /** Where a match that begins there ends. */
  function endOf(pattern: RegExp, from: number, none = from): number {
    pattern.lastIndex = from
    return pattern.test(text) ? pattern.lastIndex : none
  }
}
