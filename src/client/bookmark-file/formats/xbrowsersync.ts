import type { BookmarkFile } from '../read.ts'
import {
  attributesOf,
  isObject,
  type JsonObject,
  listOf,
  readTree,
  type TreeItem,
  textOf,
  textsOf,
} from './json-tree.ts'

/** By the titles of its own folders, which were written `_other_` at first. */
const marks: Readonly<Record<string, string>> = {
  toolbar: 'personal_toolbar_folder',
  other: 'unfiled_bookmarks_folder',
  mobile: 'mobile_bookmarks_folder',
  menu: 'bookmarks_menu_folder',
}

/** Reads a backup of xBrowserSync, in which the bookmarks lay at the top at first. */
export async function readXBrowserSync({ data, ...older }: JsonObject): Promise<BookmarkFile> {
  const all = listOf((isObject(data) ? data : older).bookmarks)
  const items = all.flatMap((node): TreeItem[] => {
    const item = isObject(node) ? toItem(node) : undefined
    const [, title = ''] = /^(?:\[xbs\] |_)(toolbar|other|mobile|menu)_?$/i.exec(item?.title ?? '') ?? []
    if (!item || title === '') return item ? [item] : []
    const name = title.toLowerCase()
    const attributes = { ...item.attributes, [marks[name] as string]: 'true' }
    return [{ ...item, title: name.charAt(0).toUpperCase() + name.slice(1), attributes }]
  })
  const { bookmarks, unread } = await readTree(items, toItem)
  return { bookmarks, unread: unread + all.length - items.length }
}

function toItem({ title, url, description, tags, children, type }: JsonObject): TreeItem | undefined {
  const name = textOf(title)
  const attributes = attributesOf({ description, tags: textsOf(tags).join(',') })
  if (typeof url === 'string') return { title: name, url, attributes }
  const isSeparator = type === 'separator' || (children === undefined && /^(?:[-─]+|\|)$/.test(name))
  return isSeparator ? { title: '', type: 'separator' } : { title: name, attributes, children: listOf(children) }
}
