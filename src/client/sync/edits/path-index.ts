import { kindOf, type TreeNode } from '../../bookmark/tree.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { noteMarked, type Role } from '../../bookmark-file/marks.ts'
import { paced } from '../../timing/paced.ts'

/** What is in the folders of one path, that is, with the same titles from the top level on. */
export interface Place {
  urls: Set<string>
  hasSeparator: boolean
  /** The folders there by title: the id of the first one, and what is in all of them. */
  folders: Map<string, { id: string; place: Place }>
}

/** The existing bookmarks, to look up by id and by path. */
export interface PathIndex {
  nodes: Map<string, TreeNode>
  /** By the folder's id; the key `undefined` stands for the top level. */
  places: Map<string | undefined, Place>
  /** The folders that hold what is in the browsers' own ones. `other` is the top level. */
  marked: Map<Role, string | undefined>
}

export async function indexPaths(tree: readonly TreeNode[], signal: AbortSignal | undefined): Promise<PathIndex> {
  const nodes = new Map<string, TreeNode>()
  const top = emptyPlace()
  const places = new Map<string | undefined, Place>([[undefined, top]])
  const marked: PathIndex['marked'] = new Map([['other', undefined]])
  const pending = tree.map((node) => ({ node, place: top }))
  const enterNode = ({ node, place }: (typeof pending)[number]) => {
    const { id } = node.bookmark
    nodes.set(id, node)
    noteMarked(marked, node.bookmark)
    const inside = enter(place, node.bookmark)
    if (!inside) return
    places.set(id, inside)
    for (const child of node.children) pending.push({ node: child, place: inside })
  }
  await paced(pending, enterNode, signal)
  return { nodes, places, marked }
}

export function emptyPlace(): Place {
  return { urls: new Set(), hasSeparator: false, folders: new Map() }
}

/** Adds a bookmark to what is there; returns the place inside if it is a folder. */
function enter(place: Place, bookmark: Readonly<PlaintextBookmark>): Place | undefined {
  const kind = kindOf(bookmark)
  if (kind === 'link') place.urls.add(bookmark.url as string)
  if (kind === 'separator') place.hasSeparator = true
  if (kind !== 'folder') return undefined
  const same = place.folders.get(bookmark.title) ?? { id: bookmark.id, place: emptyPlace() }
  place.folders.set(bookmark.title, same)
  return same.place
}
