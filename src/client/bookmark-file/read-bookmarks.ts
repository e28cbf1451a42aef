import type { PlaintextBookmark } from '../bookmark.ts'
import { BookmarkFileError, type BookmarkFileFault } from '../errors.ts'
import { decodeFile } from './decode.ts'
import { openTable } from './formats/csv-table.ts'
import { isCiphertext, readExport } from './formats/export.ts'
import { isObject, listOf } from './formats/json-tree.ts'
import { type BookmarkFile, readBookmarkFileAsync } from './read.ts'
import { countLinks, isReadingList } from './tags.ts'

/**
 * `netscape`: the HTML files of browsers and services · `chrome`: the file `Bookmarks` of a Chromium profile · `firefox`: a
 * backup of Firefox (JSON) · `pinboard`: its JSON · `xbrowsersync`: its backups · `export`: the JSON of `writeBookmarkJson` ·
 * `csv`: of Pocket, Instapaper, Raindrop, `writeBookmarkCsv`, or another file with a column `url`
 */
export type BookmarkFormat = 'netscape' | 'chrome' | 'firefox' | 'pinboard' | 'xbrowsersync' | 'export' | 'csv'

/** The contents of a file to import. */
export interface ReadBookmarks extends BookmarkFile {
  format: BookmarkFormat
  /** True for a web page whose links may not be meant as bookmarks: ask before importing them. */
  isOrdinaryPage: boolean
}

/** How many characters at a file's start decide its format, unless it is JSON. */
const headLength = 4096

const signatures: readonly [string, BookmarkFileFault][] = [
  ['EBSB', 'own-backup'],
  ['EBSX', 'own-backup'],
  ['bplist', 'safari'],
  ['mozLz40', 'firefox'],
  ['SQLite format 3', 'database'],
  ['PK\u0003\u0004', 'compressed'],
  ['\u001F\u008B', 'compressed'],
]
const faultsOfElements: Readonly<Record<string, BookmarkFileFault>> = { plist: 'safari', opml: 'opml', xbel: 'xbel' }

const messages: Readonly<Record<BookmarkFileFault, string>> = {
  unknown: 'This is not a bookmark file',
  damaged: 'The file is damaged or cut off. Export it again',
  empty: 'The file is empty. Export it again',
  'no-bookmarks': 'There are no bookmarks in this file',
  encrypted: 'The bookmarks in this file are encrypted. Open the backup that it was taken from with openBackup',
  'own-backup': 'This is an encrypted backup of this service. Open it with openBackup',
  safari:
    'This is a property list, as Safari and macOS write them. In Safari, choose File > Export > Bookmarks and import that file',
  firefox:
    'This is a compressed backup of Firefox. In Firefox, press Ctrl+Shift+O, choose Import and Backup > Backup, and import that file',
  opera: 'This is a hotlist of Opera 12. Export the bookmarks as HTML in Opera, and import that file',
  database: 'This is a database of a browser. Export the bookmarks as HTML in the browser, and import that file',
  compressed: 'This is a compressed file. Unpack it, and import the file inside',
  xbel: 'This is an XBEL file. Export the bookmarks as HTML where it comes from, and import that file',
  opml: 'This is an OPML file. Export the bookmarks as HTML where it comes from, and import that file',
}

/**
 * Reads a file with bookmarks. Recognizes the format by the file's contents.
 *
 * Bookmarks of `writeBookmarkJson` and `writeBookmarkCsv` come back as they were. Other formats lead to bookmarks like
 * those of `readBookmarkFile`: new ids, positions in the order of the file, dates in whole seconds.
 *
 * @throws BookmarkFileError the file cannot be read; `fault` has the reason
 */
export async function readBookmarks(input: Uint8Array): Promise<ReadBookmarks> {
  const read = await readAny(input)
  if (read.bookmarks.length === 0) throw refusal(read.unread > 0 ? 'damaged' : 'no-bookmarks')
  return read
}

async function readAny(input: Uint8Array): Promise<ReadBookmarks> {
  if (input.length === 0) throw refusal('empty')
  const start = String.fromCharCode(...input.subarray(0, 16))
  const [, fault] = signatures.find(([signature]) => start.startsWith(signature)) ?? []
  if (fault) throw refusal(fault)
  const text = decodeFile(input)
  const head = text.slice(0, headLength)
  if (/^\s*[[{]/.test(head)) return { isOrdinaryPage: false, ...(await readJson(text)) }
  if (/^\s*Opera Hotlist/.test(head)) throw refusal('opera')
  // CSV with a column `url`, such as Pocket's last export.
  if (openTable(head).delimiter !== undefined) {
    const { readCsv } = await import('./formats/csv.ts')
    return { format: 'csv', isOrdinaryPage: false, ...(await readCsv(text)) }
  }
  const [, element = ''] = /<(plist|opml|xbel|html|meta|title|h1|dl|dt)[\s>]/i.exec(head) ?? []
  const other = faultsOfElements[element.toLowerCase()]
  if (other) throw refusal(other)
  const read = await readBookmarkFileAsync(text)
  return { format: 'netscape', isOrdinaryPage: isOrdinaryPage(text, read.bookmarks), ...read }
}

function refusal(fault: BookmarkFileFault): BookmarkFileError {
  return new BookmarkFileError(fault, messages[fault])
}

/** Web pages have lists of links, too, but other elements and no dates, no items (DT) or mostly relative addresses. */
function isOrdinaryPage(html: string, bookmarks: readonly PlaintextBookmark[]): boolean {
  const head = html.slice(0, headLength)
  if (/<!DOCTYPE NETSCAPE/i.test(head) || isReadingList.test(head)) return false
  const links = bookmarks.flatMap(({ url }) => url ?? [])
  const absolute = links.filter((url) => URL.canParse(url))
  const isPage =
    !/\sadd_date\s*=/i.test(html) && /<(?:!doctype html|body|div|img|link|nav|script|span|style)[\s>]/i.test(html)
  return isPage || countLinks(html) === 0 || absolute.length < links.length / 2
}

async function readJson(text: string): Promise<BookmarkFile & Pick<ReadBookmarks, 'format'>> {
  const [format, read] = formatOf(parse(text)) ?? []
  if (!format || !read) throw refusal('unknown')
  return { format, ...(await read()) }
}

function formatOf(json: unknown): [BookmarkFormat, () => Promise<BookmarkFile>] | undefined {
  if (listOf(json).some((post) => isObject(post) && typeof post.href === 'string'))
    return ['pinboard', async () => (await import('./formats/pinboard.ts')).readPinboard(listOf(json))]
  if (!isObject(json)) return undefined
  if (isObject(json.roots)) return ['chrome', async () => (await import('./formats/chrome.ts')).readChrome(json)]
  if (typeof json.type === 'string' && json.type.startsWith('text/x-moz-place'))
    return ['firefox', async () => (await import('./formats/firefox.ts')).readFirefox(json)]
  const { xbrowsersync = json.xBrowserSync, exported_at, bookmarks } = json
  if (isObject(xbrowsersync))
    return ['xbrowsersync', async () => (await import('./formats/xbrowsersync.ts')).readXBrowserSync(xbrowsersync)]
  if (listOf(bookmarks).some(isCiphertext)) throw refusal('encrypted')
  if (typeof exported_at !== 'string' || !Array.isArray(bookmarks)) return undefined
  return ['export', async () => readExport(bookmarks)]
}

/** Recognizes bookmarks in JSON that does not parse, because it was cut off. */
const known = /"(?:roots|type": ?"text\/x-moz-place|xbrowsersync|exported_at|href)/i

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw refusal(known.test(text.slice(0, headLength)) ? 'damaged' : 'unknown')
  }
}
