import type { PlaintextBookmark } from '../bookmark.ts'

/** The history entry of a removed page: other devices then remove the page from their browsers' histories. */
export function removedPage(id: string, time: number): PlaintextBookmark {
  return { id, title: '', source: 'history', dateModified: new Date(time).toISOString() }
}

export function isRemovedPage({ url }: Readonly<PlaintextBookmark>): boolean {
  return url === undefined
}

/** When the entry's page was last removed; undefined if it never was. */
export function removalOf(entry: Readonly<PlaintextBookmark> | undefined): number | undefined {
  return Date.parse(entry?.dateModified ?? '') || undefined
}
