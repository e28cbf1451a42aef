import { isUrlColumn } from './csv-table.ts'

/** A row of CSV. */
export interface CsvRow {
  cells: string[]
  /** The row as it is in the file. */
  line: string
  /** True if a quote seems misplaced, so that the cells may be wrong. */
  isDamaged: boolean
}

const lineBreaks = /\r\n?|\n/

/**
 * Reads CSV (RFC 4180) with any line breaks. Skips blank rows. An unescaped quote belongs to its cell. So does an
 * opening quote that is never closed, so that it does not swallow the following rows. A cell may have several lines only
 * if its quotes are correct and none of the lines looks like a row.
 *
 * @param isWhole returns true if a row is certainly correct, even if one of its lines looks like a row
 */
export function* readRows(
  text: string,
  delimiter: string,
  isWhole?: (cells: readonly string[]) => boolean,
): Generator<CsvRow, undefined> {
  const openingQuote = / *"/y
  const unquoted = new RegExp(`[^${delimiter}\\r\\n]*`, 'y')
  const blanks = delimiter === '\t' ? ' *' : '[ \\t]*'
  const restOfCell = new RegExp(`${blanks}(?=[${delimiter}\\r\\n]|$)`, 'y')
  const lineBreak = new RegExp(lineBreaks, 'y')
  // After a misplaced quote, no quote up to `searchedTo` closes a cell, so this part of the row is not searched again.
  let [at, lineEnd, searchedTo, isDamaged] = [0, -1, -1, false]
  // The number of columns, and the index of the column with the address, from the header.
  let [width, urlColumn] = [0, -1]

  while (at < text.length) {
    const start = at
    isDamaged = false
    const cells = readCells()
    const line = text.slice(start, at)
    at = endOf(lineBreak, at)
    if (!cells.some((cell) => cell.trim() !== '')) continue
    if (width === 0) [width, urlColumn] = [cells.length, cells.findIndex(isUrlColumn)]
    yield { cells, line, isDamaged }
  }

  function readCells(): string[] {
    const cells: string[] = []
    let doubtful: { start: number; index: number } | undefined
    for (; ; at++) {
      const start = at
      const cell = readCell()
      if (!doubtful && holdsRow(cell, start, cells.length)) doubtful = { start, index: cells.length }
      cells.push(cell)
      if (doubtful && (!isWhole || cells.length >= width || text[at] !== delimiter)) {
        if (!isWhole?.(cells)) {
          ;[lineEnd, searchedTo, isDamaged] = [-1, -1, true]
          cells.splice(doubtful.index, cells.length, readText(doubtful.start))
        }
        doubtful = undefined
      }
      if (text[at] !== delimiter) return cells
    }
  }

  /** True if a line inside the cell looks like a row: at least as many cells, with an absolute address in the address column. */
  function holdsRow(cell: string, start: number, index: number): boolean {
    if (urlColumn === -1 || !/[\r\n]/.test(cell)) return false
    const lines = text.slice(start, at).split(lineBreaks)
    const behind = text.slice(at, nextLineEnd(at)).split(delimiter).slice(1)
    // If so, the cells after this one belong to the inner row: the outer row has its address, and would be too long with them.
    const hasTwo = index > urlColumn && index + 1 + behind.length > width
    return lines.some((line, number) => {
      const before = number === 0 ? index : 0
      const parts = line.split(delimiter)
      const rest = number === lines.length - 1 ? behind : []
      const address = [...parts, ...(hasTwo ? rest : [])][urlColumn - before] ?? ''
      return /^"?[a-z][a-z\d+.-]*:\/\/\S+$/i.test(address) && before + parts.length + rest.length >= width
    })
  }

  function readCell(): string {
    const start = at
    return readQuoted(endOf(openingQuote, at)) ?? readText(start)
  }

  function readText(start: number): string {
    at = endOf(unquoted, start)
    return text.slice(start, at)
  }

  /** Undefined if the cell has no valid quotes. */
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
        if (quote <= searchedTo) break
        if (lineEnd < start) lineEnd = nextLineEnd(start)
        if (quote > lineEnd) break
      }
    }
    if (hasStrayQuote) searchedTo = lineEnd
    isDamaged = true
    return undefined
  }

  function nextLineEnd(from: number): number {
    const found = text.slice(from).search(/[\r\n]/)
    return found === -1 ? text.length : from + found
  }

  /** The end of a match that begins at `from`; `none` if there is none. */
  function endOf(pattern: RegExp, from: number, none = from): number {
    pattern.lastIndex = from
    return pattern.test(text) ? pattern.lastIndex : none
  }
}
