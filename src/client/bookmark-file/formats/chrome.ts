import type { Role } from '../marks.ts'
import { asSeparator } from '../place.ts'
import type { BookmarkFile } from '../read.ts'
import {
  attributesOf,
  isObject,
  type JsonObject,
  listOf,
  readTree,
  type TreeItem,
  textOf,
  withMark,
} from './json-tree.ts'

const roles = new Map<string, Role>([
  ['bookmark_bar', 'toolbar'],
  ['other', 'other'],
  ['synced', 'mobile'],
])

/** Reads the file `Bookmarks` in a profile of Chrome, Edge, Brave, Vivaldi or Opera, without the trash. */
export async function readChrome({ roots }: JsonObject): Promise<BookmarkFile> {
  const own = isObject(roots) ? roots : {}
  // Opera keeps more folders in `custom_root`.
  const all = { ...own, ...(isObject(own.custom_root) && own.custom_root) }
  const folders = Object.entries(all).flatMap(([name, folder]): TreeItem[] => {
    const item = name === 'trash' || !isObject(folder) ? undefined : toItem(folder)
    if (!item?.children?.length) return []
    const role = roles.get(name)
    return [role ? withMark(item, role) : item]
  })
  const { bookmarks, unread } = await readTree(folders, toItem)
  return { bookmarks: bookmarks.map(asSeparator), unread }
}

function toItem({ type, name, url, children, date_added, date_modified, meta_info }: JsonObject): TreeItem | undefined {
  const description = isObject(meta_info) ? meta_info.Description : undefined
  const attributes = attributesOf({ add_date: date_added, last_modified: date_modified, description })
  const title = textOf(name)
  if (typeof url === 'string') return { title, url, attributes }
  return type === 'url' ? undefined : { title, attributes, children: listOf(children) }
}
