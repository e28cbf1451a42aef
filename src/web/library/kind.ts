import { siteOf } from '../../client/bookmark/address.ts'
import type { PlaintextBookmark } from '../../client/index.ts'
import { say } from '../words/words.ts'

export type Bookmark = Readonly<PlaintextBookmark>

export function isFolder({ url, type }: Bookmark): boolean {
  return url === undefined && type !== 'separator'
}

/** The name that the page shows for a bookmark. */
export function nameOf({ title, url }: Bookmark): string {
  return isBlank(title) ? url || say.ui.untitled : title
}

/** True if the title has only spaces and characters without a shape of their own (Unicode's category Cf). */
export function isBlank(title: string): boolean {
  return !/[^\s\p{Cf}]/u.test(title)
}

const maxQuoted = 80

/** A bookmark's name in quotes, shortened for a message. */
export function quoted(bookmark: Bookmark): string {
  const letters = [...nameOf(bookmark)]
  return say.ui.quoted(`${letters.slice(0, maxQuoted).join('')}${letters.length > maxQuoted ? '…' : ''}`)
}

/** The bookmark's site; empty if its address has none. */
export function hostOf({ url = '' }: Bookmark): string {
  return siteOf(url)
}

/** True if the address is safe to click. Imported bookmarks may contain `javascript:`. */
export function isSafe(url: string): boolean {
  return /^(https?|ftp|mailto):/i.test(url)
}
