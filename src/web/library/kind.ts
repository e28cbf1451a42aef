import type { PlaintextBookmark } from '../../client/index.ts'

export type Bookmark = Readonly<PlaintextBookmark>

export function isFolder({ url, type }: Bookmark): boolean {
  return url === undefined && type !== 'separator'
}

/** What a bookmark is called on the page and in messages. */
export function nameOf({ title, url }: Bookmark): string {
  return title || url || 'untitled'
}

/** The site that an address leads to, as people say it; empty if it leads to none. */
export function hostOf({ url = '' }: Bookmark): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : ''
}

/** Only addresses that are safe to click become links: an imported bookmark can contain `javascript:`. */
export function isSafe(url: string): boolean {
  return /^(https?|ftp|mailto):/i.test(url)
}
