import type { Role } from '../marks.ts'
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
  withMark,
} from './json-tree.ts'

/** Matches the titles of xBrowserSync's own folders. Old versions wrote `_other_`. */
const ownTitle = /^(?:\[xbs\] |_)(toolbar|other|mobile|menu)_?$/i

/** Reads a backup of xBrowserSync. Old backups have `bookmarks` at the top level of the JSON, without `data`. */
export async function readXBrowserSync({ data, ...older }: JsonObject): Promise<BookmarkFile> {
  const all = listOf((isObject(data) ? data : older).bookmarks)
  const items = all.flatMap((node): TreeItem[] => {
    const item = isObject(node) ? toItem(node) : undefined
    const [, title] = ownTitle.exec(item?.title ?? '') ?? []
    if (!item || title === undefined) return item ? [item] : []
    const role = title.toLowerCase() as Role
    return [withMark({ ...item, title: role.charAt(0).toUpperCase() + role.slice(1) }, role)]
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
