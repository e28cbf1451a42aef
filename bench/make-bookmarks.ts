import type { PlaintextBookmark } from '../src/client/bookmark.ts'

/** Bookmarks of a realistic length, in folders of fifty. */
export function makeBookmarks(count: number): PlaintextBookmark[] {
  const folders = Array.from({ length: count / 50 }, () => crypto.randomUUID())
  return Array.from({ length: count }, (_, index) => {
    const id = folders[index / 50] ?? crypto.randomUUID()
    const dateAdded = new Date(1_600_000_000_000 + index * 3_600_000).toISOString()
    const common = { id, source: 'bookmarks' as const, dateAdded, position: `a${index}` }
    if (folders[index / 50]) return { ...common, title: `Folder ${index / 50}` }
    const path = `articles/${index}/how-to-keep-bookmarks-in-step`.slice(0, 20 + (index % 30))
    return {
      ...common,
      title: `How to keep bookmarks in step, part ${index}`,
      url: `https://www.example.org/${path}`,
      parentId: folders[Math.floor(index / 50)] as string,
    }
  })
}
