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
  withMark,
} from './json-tree.ts'

const roles = new Map<string, Role>([
  ['toolbarFolder', 'toolbar'],
  ['unfiledBookmarksFolder', 'other'],
  ['mobileFolder', 'mobile'],
])
/** Firefox shows these titles instead of the names in its backups. */
const titles = new Map([
  ['toolbar', 'Bookmarks Toolbar'],
  ['unfiled', 'Other Bookmarks'],
  ['mobile', 'Mobile Bookmarks'],
])

/** Reads a backup of Firefox (JSON). As in its HTML files, the bookmarks menu is the top level. */
export async function readFirefox(backup: JsonObject): Promise<BookmarkFile> {
  const roots = backup.root === 'placesRoot' ? listOf(backup.children).filter(isObject) : [backup]
  const nodes = roots.flatMap((root): JsonObject[] => {
    // Skipped, because each bookmark has its tags itself.
    if (root.root === 'tagsFolder') return []
    return root.root === 'bookmarksMenuFolder' ? listOf(root.children).filter(isObject) : [root]
  })
  const items = nodes.flatMap((node): TreeItem[] => {
    const item = toItem(node)
    const role = roles.get(textOf(node.root))
    if (!item || !role) return item ? [item] : []
    if (!item.children?.length) return []
    return [withMark({ ...item, title: titles.get(item.title) ?? item.title }, role)]
  })
  const { bookmarks, unread } = await readTree(items, toItem)
  return { bookmarks, unread: unread + nodes.filter((node) => !toItem(node)).length }
}

function toItem(node: JsonObject): TreeItem | undefined {
  const { type, title, uri, children, annos, dateAdded, lastModified, tags, iconUri = node.iconuri } = node
  const note = listOf(annos).find((anno) => isObject(anno) && anno.name === 'bookmarkProperties/description')
  const attributes = attributesOf({
    add_date: dateAdded,
    last_modified: lastModified,
    tags,
    icon_uri: iconUri,
    shortcuturl: node.keyword,
    post_data: node.postData,
    last_charset: node.charset,
    description: (note as JsonObject | undefined)?.value,
  })
  const item = { title: textOf(title), attributes }
  if (type === 'text/x-moz-place-separator') return { ...item, type: 'separator' }
  if (typeof uri === 'string') return { ...item, url: uri }
  return type === 'text/x-moz-place-container' ? { ...item, children: listOf(children) } : undefined
}
