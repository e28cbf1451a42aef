import type { PlaintextBookmark } from '../bookmark.ts'

/** The history entry of a removed page. Other browsers then remove the page from their own histories. */
export function removedPage(id: string, time: number): PlaintextBookmark {
  return { id, title: '', source: 'history', dateModified: new Date(time).toISOString() }
}

export function isRemovedPage({ url }: Readonly<PlaintextBookmark>): boolean {
  return url === undefined
}

/** When the page of the entry was removed last; undefined if it was not. */
export function removalOf(entry: Readonly<PlaintextBookmark> | undefined): number | undefined {
  return Date.parse(entry?.dateModified ?? '') || undefined
}
