import type { PlaintextBookmark } from '../../bookmark.ts'

/** The combining accents of Latin, Greek and Cyrillic. Other scripts' marks, such as vowels, make another word. */
const accents = /[\u0300-\u036f]/g

/** Separates the fields of a text. No word contains it. */
const separator = '\0'

/** What a search looks at: the fields in one text, those that count most first. */
export interface SearchText {
  text: string
  /** Where the fields after the title begin: tags, address, description. */
  starts: readonly number[]
}

/** The text without differences of case and accents. */
function fold(text: string): string {
  // In capitals first, because ß then becomes SS and ς becomes Σ, like σ.
  return text.normalize('NFKD').replace(accents, '').toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}

/** The words of a query; an address is looked for as it is shown. */
export function wordsOf(query: string): string[] {
  const words = fold(readable(query)).split(/[\s\0]+/)
  return [...new Set(words)].filter((word) => word !== '')
}

export function searchText(bookmark: Readonly<PlaintextBookmark>): SearchText {
  // Another client may have written anything.
  const { title, tags, url, description, parentId, path }: Record<string, unknown> = bookmark
  // Without a folder of their own, bookmarks have the name of one.
  const folder = parentId === undefined ? path : ''
  const tagged = Array.isArray(tags) ? tags.map(clean).join(' ') : ''
  const fields = [clean(title), tagged, readable(clean(url)), `${clean(description)} ${clean(folder)}`]
  const text = fold(fields.join(separator))
  const starts: number[] = []
  for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + 1)) starts.push(at + 1)
  return { text, starts }
}

function clean(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll(separator, ' ') : ''
}

/** An address with its percent signs decoded. */
function readable(url: string): string {
  if (!url.includes('%')) return url
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}
