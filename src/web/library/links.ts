import { bareAddress } from '../../client/bookmark/address.ts'
import type { SyncReader, TreeNode } from '../../client/index.ts'
import { UserFacingError } from '../ui/failure.ts'
import { say } from '../words/words.ts'

/** The bookmarks of a folder (ids), and its subfolders. */
type Items = readonly (string | TreeNode)[]

/** An unchanged folder stays the same object, so its items are cached. */
const known = new WeakMap<TreeNode, Items>()

/** The ids of all bookmarks that are neither folders nor separators, in the order of the tree. */
export function allLinks(sync: Pick<SyncReader, 'tree'>): string[] {
  const ids: string[] = []
  // A stack, because recursion would overflow on deeply nested folders.
  const pending = itemsOf(sync.tree()).toReversed()
  for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
    if (typeof item === 'string') ids.push(item)
    else for (const inside of itemsIn(item).toReversed()) pending.push(inside)
  }
  return ids
}

function itemsIn(folder: TreeNode): Items {
  const items = known.get(folder) ?? itemsOf(folder.children)
  known.set(folder, items)
  return items
}

function itemsOf(nodes: readonly TreeNode[]): Items {
  const items: (string | TreeNode)[] = []
  for (const node of nodes) {
    if (node.bookmark.url !== undefined) items.push(node.bookmark.id)
    if (node.children.length > 0) items.push(node)
  }
  return items
}

/** Query parameters that tell a site where its visitors come from. */
const tracking = /^(utm_\w+|fbclid|gclid|dclid|msclkid|yclid|igshid|mc_[ce]id)(=|$)/i

/** Removes `http(s)://`, `www.`, tracking, fragment and a last `/`, to compare addresses. `#/…` and `#!…` stay: other pages. */
export function pageOf(url: string | undefined): string | undefined {
  const [path = '', query = '', part = ''] =
    /^([^?#]*)(?:\?([^#]*))?(#[/!].*)?/.exec(bareAddress(url) ?? '')?.slice(1) ?? []
  const asked = query.split('&').filter((field) => !tracking.test(field))
  return bareAddress(`${bareAddress(path) ?? ''}${asked.join('&') && `?${asked.join('&')}`}${part}`)
}

/** Schemes that run code, or whose content comes from the address itself (`data:`) or from an open page (`blob:`). */
const refused = /^(javascript|data|vbscript|blob):/i

/**
 * Completes a typed address with its scheme. Those that begin with `.`, `/`, `?` or `#`, as in some bookmark files, stay.
 *
 * @throws UserFacingError if the scheme is `refused`, or the text is not an address
 */
export function completeAddress(typed: string): string {
  const text = typed.trim()
  // Browsers ignore control characters and spaces before a scheme, and tabs and line breaks in it.
  const scheme = Array.from(text, (one) => (one > ' ' ? one : '')).join('')
  if (refused.test(scheme)) throw new UserFacingError(say.library.runsCode)
  if (/^[./?#]/.test(text)) return text
  const hasScheme = /^[a-z][a-z0-9+.-]*:(?!\d+(\/|$))/i.test(text)
  const address = hasScheme ? text : `https://${text}`
  // Some browsers accept a space in a host.
  if (!URL.canParse(address) || /^[a-z]+:\/\/[^/?#]*\s/i.test(address)) throw new UserFacingError(say.library.noAddress)
  return address
}

/** The address in the text, with its scheme; undefined if the text does not look like the address of a page. */
export function addressIn(text: string): string | undefined {
  const typed = text.trim()
  const [host = ''] = typed.split(/[/:?#]/, 1)
  const isHost = host.includes('.') && /^[a-z]{2,}$/i.test(host.slice(host.lastIndexOf('.') + 1))
  if (/[\s@]/.test(host) || /\s/.test(typed) || !(isHost || /^https?:\/\/./i.test(typed))) return undefined
  try {
    return completeAddress(typed)
  } catch {
    return undefined
  }
}
