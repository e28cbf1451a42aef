import type { PlaintextBookmark } from '../bookmark.ts'

/** The history entry of a page that a person has removed. Browsers with the page in their own histories remove it there, too. */
export function removedPage(id: string, time: number): PlaintextBookmark {
  return { id, title: '', source: 'history', dateModified: new Date(time).toISOString() }
}

export function isRemovedPage({ url }: Readonly<PlaintextBookmark>): boolean {
  return url === undefined
}
