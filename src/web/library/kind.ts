import { siteOf } from '../../client/bookmark/address.ts'
import type { PlaintextBookmark } from '../../client/index.ts'
import { say } from '../words/words.ts'

export type Bookmark = Readonly<PlaintextBookmark>

export function isFolder({ url, type }: Bookmark): boolean {
  return url === undefined && type !== 'separator'
}

/** A bookmark's name on the page. */
export function nameOf({ title, url }: Bookmark): string {
  return isBlank(title) ? url || say.ui.untitled : title
}

/** True if nothing of the title is to be seen. */
export function isBlank(title: string): boolean {
  return !/[^\s\p{Cf}]/u.test(title)
}

const maxQuoted = 80

/** A bookmark's name in a message, which has no room for the longest titles. */
export function quoted(bookmark: Bookmark): string {
  const letters = [...nameOf(bookmark)]
  return say.ui.quoted(`${letters.slice(0, maxQuoted).join('')}${letters.length > maxQuoted ? '…' : ''}`)
}

/** The bookmark's site; empty if its address leads to none. */
export function hostOf({ url = '' }: Bookmark): string {
  return siteOf(url)
}

/** Only addresses that are safe to click become links: an imported bookmark can contain `javascript:`. */
export function isSafe(url: string): boolean {
  return /^(https?|ftp|mailto):/i.test(url)
}
