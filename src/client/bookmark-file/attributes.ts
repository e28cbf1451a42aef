import type { PlaintextBookmark } from '../bookmark.ts'

/** The attributes of an HTML tag by lower-case name. */
export type Attributes = Record<string, string>

type Details = Pick<PlaintextBookmark, 'dateAdded' | 'dateModified' | 'description' | 'tags' | 'favicon'> & {
  attributes?: Attributes
}

/**
 * Harmless attributes that browsers and services write, and that no bookmark field holds. No others are kept in a
 * bookmark, except `data-…`: people also open the file as a page, where a stranger's ONFOCUS or STYLE would take effect.
 */
const inert = new Set([
  ...['personal_toolbar_folder', 'unfiled_bookmarks_folder', 'bookmarks_menu_folder', 'mobile_bookmarks_folder'],
  ...['bookmarks_menu', 'places_root', 'folded', 'newitemheader', 'id', 'icon_uri'],
  ...['shortcuturl', 'post_data', 'last_charset', 'last_visit', 'web_panel', 'generated_title', 'micsum_gen_uri'],
  ...['feed', 'feedurl', 'siteurl', 'webslice', 'islivepreview', 'previewsize'],
  ...['nickname', 'speeddial', 'thumbnail', 'visited', 'created', 'visit_count'],
  ...['private', 'public', 'shared', 'toread', 'note', 'cover', 'important'],
])

/** Reads the attributes of an A, H3 or HR. Harmless ones that no field holds go to `attributes`; writing restores them. */
export function readAttributes(attributes: Attributes): Details {
  const {
    icon,
    icon_uri: iconUri,
    add_date: added = attributes.time_added,
    last_modified: modified,
    tags: tagList = '',
  } = attributes
  // Scuttle, a bookmark service, writes the description as an attribute. A DD element overrides it.
  const { description } = attributes
  const dateAdded = readDate(added)
  const dateModified = readDate(modified)
  const tags = [...new Set(tagList.split(',').flatMap((tag) => tag.trim() || []))]
  const favicon = icon || iconUri
  const others = Object.entries(attributes).filter(
    ([name]) => isInert(name) && (name !== 'icon_uri' || favicon !== iconUri),
  )
  return {
    ...(dateAdded && { dateAdded }),
    ...(dateModified && { dateModified }),
    ...(description && { description }),
    ...(tags.length > 0 && { tags }),
    ...(favicon && { favicon }),
    ...(others.length > 0 && { attributes: Object.fromEntries(others) }),
  }
}

/**
 * The inverse of `readAttributes`. A tag with a comma becomes two tags, because the format cannot escape commas. Fields
 * may have any value, because other clients can write them.
 */
export function writeAttributes(bookmark: PlaintextBookmark): Attributes {
  const added = writeDate(bookmark.dateAdded)
  const modified = writeDate(bookmark.dateModified)
  const { favicon, tags }: Record<string, unknown> = bookmark
  const icon = typeof favicon === 'string' ? favicon : ''
  const tagList = Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string').join(',') : ''
  return {
    ...(added && { add_date: added }),
    ...(modified && { last_modified: modified }),
    ...otherAttributes(bookmark.attributes),
    ...(icon && (icon.startsWith('data:') ? { icon } : { icon_uri: icon })),
    ...(tagList && { tags: tagList }),
  }
}

/** Removes surrounding space and all tabs and line breaks, as URL parsers do. */
export function readAddress(href: string): string {
  let end = href.length
  while (end > 0 && href.charAt(end - 1) <= ' ') end--
  return href.slice(0, end).replace(/^[\0- ]+|[\t\n\r]/g, '')
}

/** Seconds from 1601, where Chromium's dates begin, until 1970. */
const secondsUntil1970 = 11_644_473_600

/** The date in ISO 8601. Undefined for 0, which means unknown, for dates before 1970, and for other text. */
export function readDate(value = ''): string | undefined {
  const text = value.trim()
  const seconds = /^\d{1,19}(\.\d+)?$/.test(text) ? secondsOf(Number(text)) : parseDate(text) / 1000
  return seconds >= 1 ? new Date(Math.floor(seconds) * 1000).toISOString() : undefined
}

/** Reads the date in a cell. Numbers must lead to a year from 1990 to 2099: others may be day counts, or dates like 20230102. */
export function readCellDate(cell: string): string | undefined {
  const date = readDate(cell)
  const isTime = date !== undefined && date >= '1990' && date < '2100'
  return isTime || !/^\d+(\.\d+)?$/.test(cell.trim()) ? date : undefined
}

/** Guesses a number's unit by its size: seconds, ms, µs or ns since 1970, or with 17 digits Chromium's µs since 1601. */
function secondsOf(number: number): number {
  if (number >= 1e16 && number < 1e17) return number / 1e6 - secondsUntil1970
  let seconds = number
  while (seconds > 99_999_999_999) seconds /= 1000
  return seconds
}

/** Parses a numeric date (UTC unless it names a zone) or one of RFC 5322. Returns Unix ms, NaN if there is no date. */
function parseDate(text: string): number {
  if (/^(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} /.test(text)) return Date.parse(text)
  const [, date = '', time, zone = 'Z'] = /^([\d./-]+)(?:[T ]([\d:.]+) *(Z|[+-][\d:]+)?)?$/i.exec(text) ?? []
  const day = isoDay(date)
  return Date.parse(time === undefined ? day : `${day}T${time}${zone}`)
}

/** The day in ISO 8601; '' if it does not exist or is ambiguous: 25/12/2022 is one day, 1/2/2023 may be either of two. */
function isoDay(date: string): string {
  const [, first = '', , second = '', third = ''] = /^(\d+)([./-])(\d+)\2(\d+)$/.exec(date) ?? []
  const readings = [[first, second, third]]
  if (third.length === 4) readings.push([third, second, first], [third, first, second])
  const days = new Set(readings.map((numbers) => numbers.map((number) => number.padStart(2, '0')).join('-')))
  const [only = '', other] = [...days].filter(isDay)
  return other === undefined ? only : ''
}

function isDay(iso: string): boolean {
  const time = /^\d{4}-\d\d-\d\d$/.test(iso) ? Date.parse(iso) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(iso)
}

function writeDate(date: unknown): string | undefined {
  const time = Date.parse(typeof date === 'string' ? date : '')
  return time >= 1000 ? String(Math.floor(time / 1000)) : undefined
}

function otherAttributes(attributes: unknown): Attributes {
  if (typeof attributes !== 'object' || attributes === null) return {}
  const usable = Object.entries(attributes).filter(([name, value]) => typeof value === 'string' && isInert(name))
  return Object.fromEntries(usable)
}

function isInert(name: string): boolean {
  return inert.has(name) || /^data-[a-z0-9_-]+$/.test(name)
}
