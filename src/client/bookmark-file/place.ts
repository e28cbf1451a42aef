import { generateKeyBetween } from 'fractional-indexing'
import type { PlaintextBookmark } from '../bookmark.ts'
import { type Attributes, readAddress, readAttributes } from './attributes.ts'
import { fileId } from './file-id.ts'

/** A folder, or the top level, to which items are added in order. */
export interface Level {
  parent: Pick<PlaintextBookmark, 'parentId' | 'folder' | 'path'>
  /** The last item's `position`; null before the first item. */
  last: string | null
}

/** A link, a folder (without `url`) or a separator. */
export interface Item {
  title: string
  url?: string
  type?: 'separator'
  /** Named as in a bookmark file: `add_date`, `tags`, … */
  attributes?: Attributes
}

export function topLevel(): Level {
  return { parent: {}, last: null }
}

/** Adds an item at the end of a level. */
export function addItem(level: Level, { title, url, type, attributes = {} }: Item): PlaintextBookmark {
  level.last = generateKeyBetween(level.last, null)
  return {
    id: fileId(),
    title,
    ...(type && { type }),
    ...(url !== undefined && addressFields(readAddress(url))),
    ...readAttributes(attributes),
    ...level.parent,
    position: level.last,
    source: 'bookmarks',
  }
}

/** Converts Vivaldi's separators, which are links to a dummy address. */
export function asSeparator(bookmark: PlaintextBookmark): PlaintextBookmark {
  const { url = '', domain, description, ...others } = bookmark
  const isSeparator = others.title === '---' && /^http:\/\/bookmark\.placeholder\.url\/?$/.test(url)
  return isSeparator ? { ...others, title: '', type: 'separator' } : bookmark
}

/** The most characters of `folder` and `path`. Each item repeats them: without a limit, deep folders would take gigabytes. */
const longestPath = 4096

export function inside({ id, title, path, parentId }: PlaintextBookmark): Level {
  const wasPathTooLong = parentId !== undefined && path === undefined
  const whole = path === undefined ? title : `${path}/${title}`
  return {
    parent: {
      parentId: id,
      ...(title.length <= longestPath && { folder: title }),
      ...(!wasPathTooLong && whole.length <= longestPath && { path: whole }),
    },
    last: null,
  }
}

function addressFields(url: string): Pick<PlaintextBookmark, 'url' | 'domain'> {
  const isOfWeb = /^(?:https?|ftp):/i.test(url) && URL.canParse(url)
  return { url, ...(isOfWeb && { domain: new URL(url).hostname }) }
}
