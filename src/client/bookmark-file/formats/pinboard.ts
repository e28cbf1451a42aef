import type { BookmarkFile } from '../read.ts'
import { attributesOf, isObject, readTree, type TreeItem, textOf } from './json-tree.ts'

/** Reads the posts of the JSON file that Pinboard exports. */
export async function readPinboard(posts: readonly unknown[]): Promise<BookmarkFile> {
  const items = posts.flatMap((post): TreeItem[] => {
    if (!isObject(post) || typeof post.href !== 'string') return []
    const { href: url, description, extended, time, shared, toread, tags } = post
    const attributes = attributesOf({
      add_date: time,
      description: extended,
      tags: textOf(tags).replaceAll(' ', ','),
      private: shared === 'no' ? '1' : '',
      toread: toread === 'yes' ? '1' : '',
    })
    return [{ title: textOf(description), url, attributes }]
  })
  const { bookmarks } = await readTree(items, () => undefined)
  return { bookmarks, unread: posts.length - items.length }
}
