import { isEqual } from '../../bookmark/equal.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import { arrange } from '../arrange.ts'
import { readCellDate } from '../attributes.ts'
import { addItem, inside, type Level, topLevel } from '../place.ts'
import type { BookmarkFile } from '../read.ts'
import { type CsvRow, readRows } from './csv-rows.ts'
import { openTable } from './csv-table.ts'
import { idKeeper, isBookmark } from './export.ts'
import { attributesOf, isObject, textsOf } from './json-tree.ts'

/** The columns of the files that this package writes. Raindrop and others read the first six; `more` has the rest as JSON. */
const header = ['url', 'title', 'note', 'folder', 'tags', 'created', 'modified', 'more']

const dateColumns = new Set(['created', 'modified', 'time_added', 'timestamp'])
/** A row with more surplus cells than this is not repaired by joining cells. */
const mostJoined = 8
/** How many characters of a damaged row are reported, so that people find it in the file. */
const longestLine = 200

/** Returns the row's value in a column; '' if there is no such column. */
type Row = (column: string) => string

/**
 * Reads CSV with a column `url`, such as the files of Pocket, Instapaper, Raindrop and this package.
 *
 * The column `folder` may be a path (`Reading/Web`). Commas separate `tags`, in Pocket's files `|`.
 */
export async function readCsv(text: string): Promise<BookmarkFile> {
  const { rows, names, delimiter } = openRows(text)
  const columns = new Map(names.map((name, index) => [name, index]))
  const has = (column: string) => columns.has(column)
  const bookmarks: PlaintextBookmark[] = []
  const levelAt = folderFinder(bookmarks)
  const [damaged, distinct]: [string[], ReturnType<typeof idKeeper>] = [[], idKeeper()]
  let unread = 0
  // In files of this package, rows added in a spreadsheet may lack the empty cells at their end.
  const width = has('more') ? 1 : names.findLastIndex((name) => name !== '') + 1
  const add = ({ cells, line, isDamaged }: CsvRow) => {
    const whole = isDamaged ? undefined : withJoinedCells(cells, names, delimiter)
    const row: Row = (column) => (whole ?? cells)[columns.get(column) ?? -1] ?? ''
    const own = ownBookmark(row)
    // A quote that is never closed is not part of the address.
    const url = addressOf(row('url').trim().replace(/^"/, ''))
    // A row with missing cells may have its values in wrong columns.
    const isUsable = own !== undefined || (cells.length >= width && isAddress(url))
    if (!whole || !isUsable || (!own && hasUnknownDate(row))) damaged.push(line.slice(0, longestLine))
    if (own) bookmarks.push(distinct(own))
    else if (!isUsable) unread++
    else
      bookmarks.push(addItem(levelAt(pathOf(row, has)), { title: row('title'), url, attributes: detailsOf(row, has) }))
  }
  await paced(rows, add)
  return { bookmarks, unread, damaged }
}

/** The names of the columns, in lower case, and the rows below them. */
function openRows(file: string): { rows: Iterable<CsvRow>; names: string[]; delimiter: string } {
  const { text, header, delimiter = ',' } = openTable(file)
  // Cells of files that this package wrote may contain any line break, and lines that look like rows.
  const isOwn = /[,;\t|]"?more"?$/.test(header)
  const isWhole = (cells: readonly string[]) => !!ownBookmark((column) => cells[names.indexOf(column)] ?? '')
  const rows: Generator<CsvRow, undefined> = isOwn
    ? readRows(text, delimiter, isWhole)
    : readRows(text.replace(/\r\n?/g, '\n'), delimiter)
  const names: string[] = (rows.next().value?.cells ?? []).map((name) => name.trim().toLowerCase())
  return { rows, names, delimiter }
}

/**
 * The row without surplus cells, which come from unquoted commas within a cell, or from trailing commas. Joins cells, or
 * drops the empty ones at the end, if only one way leads to a likely row.
 *
 * @returns undefined if there is no such way, or more than one
 */
function withJoinedCells(cells: string[], names: readonly string[], delimiter: string): string[] | undefined {
  const surplus = cells.length - names.length
  if (surplus <= 0) return cells
  if (surplus > mostJoined) return undefined
  const isBlank = (cell: string) => cell.trim() === ''
  const candidates = names.flatMap((_, at) => {
    const parts = cells.slice(at, at + surplus + 1)
    return parts.some(isBlank) ? [] : [{ row: cells.toSpliced(at, parts.length, parts.join(delimiter)), at }]
  })
  if (cells.slice(names.length).every(isBlank)) candidates.push({ row: cells.slice(0, names.length), at: -1 })
  const [only, ...others] = candidates.filter(({ row, at }) => isLikely(row, at, names))
  return others.length === 0 ? only?.row : undefined
}

/** @param joinedAt the index of the joined cell. Another cell that begins with a space was split off at a comma. */
function isLikely(row: readonly string[], joinedAt: number, names: readonly string[]): boolean {
  return row.every((cell, at) => {
    if (at !== joinedAt && cell.startsWith(' ')) return false
    if (names[at] === 'url') return !/\s/.test(cell) && URL.canParse(addressOf(cell))
    return !dateColumns.has(names[at] ?? '') || /^[\d:./TZ+ -]*$/.test(cell)
  })
}

/** A host without a scheme before it, perhaps with a port and a path. */
const bareHost = /^(?:[\p{L}\p{N}_-]+\.)+\p{L}[\p{L}\p{N}-]*[\p{L}\p{N}](?::\d+)?(?:[/?#]\S*)?$/u

function addressOf(cell: string): string {
  return bareHost.test(cell) ? `https://${cell}` : cell
}

/** True for an absolute address, but not for other text with a colon: “Note: and/or”. */
function isAddress(text: string): boolean {
  return URL.canParse(text) && !/^(?!javascript:|data:)[^/]*\s/i.test(text)
}

/** True if a date cannot be read, or is ambiguous, such as 1/2/2023. 0 and negative numbers mean no date. */
function hasUnknownDate(row: Row): boolean {
  return [...dateColumns].some((name) => !/^(?:-[\d.]+|[0.]*)$/.test(row(name).trim()) && !readCellDate(row(name)))
}

function detailsOf(row: Row, has: (column: string) => boolean) {
  const paragraphs = ['note', 'description', 'selection', 'excerpt', 'highlights'].flatMap(
    (name) => row(name).trim() || [],
  )
  return attributesOf({
    add_date: readCellDate(row('created') || row('time_added') || row('timestamp')),
    last_modified: readCellDate(row('modified')),
    tags: has('time_added') ? row('tags').replaceAll('|', ',') : tagsOf(row('tags')).join(','),
    description: paragraphs.join('\n\n'),
    // Raindrop's HTML files have the same attributes.
    'data-cover': row('cover'),
    'data-important': row('favorite') === 'true' ? 'true' : '',
  })
}

/** Splits a cell into tags. Instapaper writes them as a JSON list. */
function tagsOf(cell: string): string[] {
  const listed = cell.startsWith('[') ? textsOf(parse(cell)) : []
  const tags = listed.length > 0 ? listed : cell.replace(/^\[|\]$/g, '').split(',')
  return [...new Set(tags.flatMap((tag) => tag.trim() || []))]
}

/** Folders of Pocket (`time_added`) and Instapaper (`selection`) are named as in their HTML files, and are not paths. */
function pathOf(row: Row, has: (column: string) => boolean): string[] {
  const titles = new Map([
    ['unread', 'Unread'],
    ['archive', 'Read Archive'],
  ])
  const folder = row('folder').trim()
  if (has('time_added')) return [titles.get(row('status')) ?? row('status')].filter(Boolean)
  if (has('selection')) return [folder].filter(Boolean)
  return folder.split('/').flatMap((title) => title.trim() || [])
}

/** Returns a function that finds the level inside a path's last folder, and adds missing folders. */
function folderFinder(bookmarks: PlaintextBookmark[]): (path: readonly string[]) => Level {
  interface Folder {
    level: Level
    inside: Map<string, Folder>
  }
  const top: Folder = { level: topLevel(), inside: new Map() }
  const add = (around: Folder, title: string): Folder => {
    const bookmark = addItem(around.level, { title })
    bookmarks.push(bookmark)
    const folder = { level: inside(bookmark), inside: new Map() }
    around.inside.set(title, folder)
    return folder
  }
  return (path) => path.reduce((around, title) => around.inside.get(title) ?? add(around, title), top).level
}

export function writeCsv(bookmarks: readonly PlaintextBookmark[]): string {
  const contents = arrange(bookmarks)
  const rows: string[][] = [header]
  const pending = (contents.get(undefined) ?? []).map((bookmark) => ({ bookmark, path: '' })).reverse()
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { bookmark, path } = next
    rows.push(writeRow(bookmark, path))
    // Paths are limited (in characters), because deep folders would make the file gigabytes large.
    const inner = path.length > 4096 ? path : `${path}${path && '/'}${bookmark.title}`
    const children = contents.get(bookmark) ?? []
    for (const child of children.toReversed()) pending.push({ bookmark: child, path: inner })
    contents.delete(bookmark)
  }
  return `\uFEFF${rows.map((cells) => `${cells.map(quoted).join(',')}\r\n`).join('')}`
}

function quoted(cell: string): string {
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

function writeRow(bookmark: PlaintextBookmark, path: string): string[] {
  const { url, title, description, tags, dateAdded, dateModified }: Record<string, unknown> = bookmark
  const tagList = textsOf(tags).join(', ')
  const cells = [url, title, description, path, tagList, dateAdded, dateModified].map(toCell)
  const readBack: Record<string, unknown> = fieldsOf((column) => cells[header.indexOf(column)] ?? '')
  const more = Object.entries(bookmark).filter(([name, value]) => !isEqual(readBack[name], value))
  return [...cells, JSON.stringify(Object.fromEntries(more)).replaceAll(';', '\\u003b')]
}

/**
 * Escapes a value so that spreadsheets do not take it for a formula, not even after a character that separates cells in
 * some countries, such as a semicolon. A text of malformed UTF-16, which UTF-8 cannot encode, becomes ''.
 */
function toCell(value: unknown): string {
  const text = typeof value === 'string' && value.isWellFormed() ? value : ''
  return text.replace(/(^|[;\t\r\n])(?=[ \u00a0"]*[=+\-@＝＋－＠])/g, "$1'")
}

/** Reverses `toCell`. Values that this cannot restore are in `more`. */
function fromCell(cell: string): string {
  return cell.replace(/(^|[;\t\r\n])'(?=[ \u00a0"]*[=+\-@＝＋－＠])/g, '$1')
}

/** The bookmark of a row that this package wrote: its `more` has the id. */
function ownBookmark(row: Row): PlaintextBookmark | undefined {
  const more = parse(row('more'))
  const bookmark = isObject(more) ? { ...fieldsOf(row), ...more } : undefined
  return isBookmark(bookmark) ? bookmark : undefined
}

function fieldsOf(row: Row): Partial<PlaintextBookmark> {
  const fields = {
    url: fromCell(row('url')),
    description: fromCell(row('note')),
    dateAdded: fromCell(row('created')),
    dateModified: fromCell(row('modified')),
  }
  const tags = tagsOf(fromCell(row('tags')))
  const usable = Object.entries(fields).filter(([, text]) => text !== '')
  return { title: fromCell(row('title')), ...Object.fromEntries(usable), ...(tags.length > 0 && { tags }) }
}

function parse(json: string): unknown {
  // Checked first, because an exception in each row of another program's file would take too long.
  if (!/^\s*[[{]/.test(json)) return undefined
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
