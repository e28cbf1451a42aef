import papa from 'papaparse'
import { isEqual } from '../../bookmark/equal.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { arrange } from '../arrange.ts'
import { addItem, inside, type Level, topLevel } from '../place.ts'
import type { BookmarkFile } from '../read.ts'
import { isBookmark } from './export.ts'
import { attributesOf, isObject, textsOf } from './json-tree.ts'

/** The columns of our own files. Raindrop and others read the first six; `more` has what they cannot hold, as JSON. */
const header = ['url', 'title', 'note', 'folder', 'tags', 'created', 'modified', 'more']

/** The value of a column, or '' if there is no such column. */
type Row = (column: string) => string

/**
 * Reads CSV with a column `url`: that of Pocket, Instapaper and Raindrop, and our own.
 *
 * `folder` may be a path (`Reading/Web`), `tags` are separated by commas.
 */
export function readCsv(text: string): BookmarkFile {
  const [first = ''] = text.trimStart().split(/[\n\r]/, 1)
  const delimiter = [';', '\t'].find((delimiter) => first.includes(delimiter)) ?? ','
  // Our own cells may have any line break in them; other files have had different ones in one.
  const isOwn = /(?:^|,)more$/.test(first)
  const trimmed = isOwn ? text.trimStart() : text.trimStart().replace(/\r\n?/g, '\n')
  const newline = isOwn ? '\r\n' : '\n'
  const { data, errors } = papa.parse(trimmed, { delimiter, newline, skipEmptyLines: 'greedy' })
  const damaged = new Set(errors.filter(({ type }) => type === 'Quotes').map(({ row }) => data[row]))
  const [names = [], ...rows] = data
  const columns = new Map(names.map((name, index) => [name.trim().toLowerCase(), index]))
  const has = (column: string) => columns.has(column)
  const bookmarks: PlaintextBookmark[] = []
  const levelAt = folderFinder(bookmarks)
  let unread = 0
  for (const cells of rows) {
    if (damaged.has(cells)) unread += countSwallowed(cells)
    const row: Row = (column) => cells[columns.get(column) ?? -1] ?? ''
    const own = ownBookmark(row)
    const url = row('url').trim()
    if (own) bookmarks.push(own)
    else if (url === '') unread++
    else
      bookmarks.push(addItem(levelAt(pathOf(row, has)), { title: row('title'), url, attributes: detailsOf(row, has) }))
  }
  return { bookmarks, unread }
}

/** Rows in a cell whose quote nobody closes. */
function countSwallowed(cells: readonly string[]): number {
  const lines = cells.flatMap((cell) => cell.split('\n').slice(1))
  return Math.max(1, lines.filter((line) => line.includes('://')).length)
}

function detailsOf(row: Row, has: (column: string) => boolean) {
  const paragraphs = ['note', 'description', 'selection', 'excerpt', 'highlights'].flatMap(
    (name) => row(name).trim() || [],
  )
  return attributesOf({
    add_date: row('created') || row('time_added') || row('timestamp'),
    last_modified: row('modified'),
    tags: has('time_added') ? row('tags').replaceAll('|', ',') : tagsOf(row('tags')).join(','),
    description: paragraphs.join('\n\n'),
    // As in Raindrop's HTML files.
    'data-cover': row('cover'),
    'data-important': row('favorite') === 'true' ? 'true' : '',
  })
}

/** Instapaper's are a JSON list. */
function tagsOf(cell: string): string[] {
  const listed = cell.startsWith('[') ? textsOf(parse(cell)) : []
  const tags = listed.length > 0 ? listed : cell.replace(/^\[|\]$/g, '').split(',')
  return [...new Set(tags.flatMap((tag) => tag.trim() || []))]
}

/** The folders of Pocket and Instapaper are those of their HTML files, and the latter's names are not paths. */
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

/** Adds the folders of a path, unless they were added before. */
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
    // Deep folders would make the file gigabytes.
    const inner = path.length > 4096 ? path : `${path}${path && '/'}${bookmark.title}`
    const children = contents.get(bookmark) ?? []
    for (const child of children.toReversed()) pending.push({ bookmark: child, path: inner })
    contents.delete(bookmark)
  }
  return `\uFEFF${papa.unparse(rows)}\r\n`
}

function writeRow(bookmark: PlaintextBookmark, path: string): string[] {
  const { url, title, description, tags, dateAdded, dateModified }: Record<string, unknown> = bookmark
  const tagList = textsOf(tags).join(', ')
  const cells = [url, title, description, path, tagList, dateAdded, dateModified].map(toCell)
  const told: Record<string, unknown> = fieldsOf((column) => cells[header.indexOf(column)] ?? '')
  const more = Object.entries(bookmark).filter(([name, value]) => !isEqual(told[name], value))
  return [...cells, JSON.stringify(Object.fromEntries(more)).replaceAll(';', '\\u003b')]
}

/**
 * A spreadsheet would run text that begins like a formula, also behind what it takes for the end of a cell: in some countries
 * that is a semicolon. UTF-8 has no half characters.
 */
function toCell(value: unknown): string {
  const text = typeof value === 'string' && value.isWellFormed() ? value : ''
  return text.replace(/(^|[;\t\r\n])(?= *[=+\-@＝＋－＠])/g, "$1'")
}

/** `more` has what this does not bring back. */
function fromCell(cell: string): string {
  return cell.replace(/(^|[;\t\r\n])'(?= *[=+\-@＝＋－＠])/g, '$1')
}

/** A bookmark from our own file, in which `more` has its id. */
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
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
