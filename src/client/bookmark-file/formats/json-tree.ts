import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import type { Attributes } from '../attributes.ts'
import { markOf, otherMark, type Role } from '../marks.ts'
import { addItem, type Item, inside, topLevel } from '../place.ts'
import type { BookmarkFile } from '../read.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/** An item whose children have not been read yet. */
export interface TreeItem extends Item {
  children?: readonly unknown[]
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function textsOf(value: unknown): string[] {
  return listOf(value).map(textOf)
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Converts values to the attributes of a bookmark file. Leaves out all but numbers and texts that are not empty. */
export function attributesOf(values: JsonObject): Attributes {
  const usable = Object.entries(values).filter(
    ([, value]) => (typeof value === 'string' && value) || typeof value === 'number',
  )
  return Object.fromEntries(usable.map(([name, value]) => [name, String(value)]))
}

/** Marks a folder as the browser's folder of this role, by the attribute that bookmark files use. */
export function withMark(folder: TreeItem, role: Role): TreeItem {
  const mark = role === 'other' ? otherMark : markOf[role]
  return { ...folder, attributes: { ...folder.attributes, [mark]: 'true' } }
}

/**
 * Makes bookmarks of a tree of JSON objects, of any depth.
 *
 * @param toItem returns undefined for an object that is not a bookmark
 */
export async function readTree(
  roots: readonly TreeItem[],
  toItem: (node: JsonObject) => TreeItem | undefined,
): Promise<BookmarkFile> {
  const bookmarks: PlaintextBookmark[] = []
  let unread = 0
  const top = topLevel()
  const pending = roots.map((item) => ({ item, level: top })).reverse()
  function* walk() {
    for (let next = pending.pop(); next; next = pending.pop()) yield next
  }
  const add = ({ item: { children = [], ...item }, level }: (typeof pending)[number]) => {
    const bookmark = addItem(level, item)
    bookmarks.push(bookmark)
    const items = children.flatMap((node) => (isObject(node) && toItem(node)) || [])
    unread += children.length - items.length
    const around = inside(bookmark)
    for (const child of items.reverse()) pending.push({ item: child, level: around })
  }
  await paced(walk(), add)
  return { bookmarks, unread }
}
