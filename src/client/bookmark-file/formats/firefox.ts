import type { BookmarkFile } from '../read.ts'
import { attributesOf, isObject, type JsonObject, listOf, readTree, type TreeItem, textOf } from './json-tree.ts'

const marks: Readonly<Record<string, string>> = {
  toolbarFolder: 'personal_toolbar_folder',
  unfiledBookmarksFolder: 'unfiled_bookmarks_folder',
  mobileFolder: 'mobile_bookmarks_folder',
}
/** What Firefox shows instead of the names in its backups. */
const titles: Readonly<Record<string, string>> = {
  toolbar: 'Bookmarks Toolbar',
  unfiled: 'Other Bookmarks',
  mobile: 'Mobile Bookmarks',
}

/** Reads a backup of Firefox (JSON). As in its HTML files, the bookmarks menu is the top level. */
export async function readFirefox(backup: JsonObject): Promise<BookmarkFile> {
  const roots = backup.root === 'placesRoot' ? listOf(backup.children).filter(isObject) : [backup]
  const nodes = roots.flatMap((root): JsonObject[] => {
    // The tags are in the bookmarks, too.
    if (root.root === 'tagsFolder') return []
    return root.root === 'bookmarksMenuFolder' ? listOf(root.children).filter(isObject) : [root]
  })
  const items = nodes.flatMap((node): TreeItem[] => {
    const item = toItem(node)
    const name = textOf(node.root)
    if (!item || !Object.hasOwn(marks, name)) return item ? [item] : []
    if (!item.children?.length) return []
    const title = Object.hasOwn(titles, item.title) ? (titles[item.title] as string) : item.title
    return [{ ...item, title, attributes: { ...item.attributes, [marks[name] as string]: 'true' } }]
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
