import { generateNKeysBetween } from 'fractional-indexing'
import { kindOf, type TreeNode } from '../../bookmark/tree.ts'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { arrange, type Contents } from '../../bookmark-file/arrange.ts'
import { isMarked, roleOf } from '../../bookmark-file/marks.ts'
import { nextTurn, paced } from '../../timing/paced.ts'
import { findFolder, type Target, targetAt } from './import-target.ts'
import { indexPaths, type PathIndex, type Place } from './path-index.ts'
import { isPosition } from './positions.ts'

/** Where imported bookmarks go, and which of them. */
export interface ImportRules {
  /** The id of the folder for the list's top level. Default: the top level. */
  into?: string | undefined
  /**
   * What happens to a bookmark whose `url` is there already, in a folder with the same title and the same titles above it:
   * `skip` leaves it out, `keep` adds it all the same. Separators are left out if they would be all that comes into a
   * folder that has some. Default: `skip`.
   */
  duplicates?: 'skip' | 'keep' | undefined
}

/** What an import changes. */
export interface ImportPlan {
  /** The bookmarks to add, in their places, by the listed ones. Those that are missing here exist already. */
  added: Map<PlaintextBookmark, PlaintextBookmark>
  /** Existing bookmarks without a position, which get one so that the added ones come after them. */
  placed: PlaintextBookmark[]
}

/**
 * Finds the place of each listed bookmark that does not exist yet: after what is there, in the order of the list. Existing
 * folders with the same titles are used again. What is listed twice is added twice, so the list loses nothing. Folders at
 * the top level that are marked as a browser's own go into the existing ones with the same mark, whatever their titles.
 *
 * @param list of bookmarks with the same id, the first is the one to add
 * @param tree what exists, as sorted by `buildTree`
 * @throws RangeError `into` is not a folder
 */
export async function planImport(
  list: readonly PlaintextBookmark[],
  tree: readonly TreeNode[],
  { into, duplicates = 'skip' }: ImportRules = {},
  signal?: AbortSignal | undefined,
): Promise<ImportPlan> {
  const existing = await indexPaths(tree, signal)
  if (!existing.places.has(into)) throw new RangeError(`There is no folder ${into}`)
  const contents = arrange(list)
  await nextTurn()
  const byFolder = new Map<string | undefined, PlaintextBookmark[]>()
  const plan: ImportPlan = { added: new Map(), placed: [] }
  const pending = findTopLevel(list, contents, existing, into)
  const planGroup = ({ items, place, folder, parentId }: Group) => {
    const comers = byFolder.get(folder) ?? []
    byFolder.set(folder, comers)
    for (const item of findComers(items, place, existing, duplicates)) {
      const comer = withParent(item, parentId)
      plan.added.set(item, comer)
      comers.push(comer)
    }
    for (const item of items) {
      const inside = contents.get(item)
      if (inside) pending.push({ items: inside, ...findFolder(item, place, existing) })
    }
  }
  await paced(pending, planGroup, signal)
  const placeComers = ([folder, comers]: [string | undefined, PlaintextBookmark[]]) => {
    const siblings = (folder === undefined ? tree : existing.nodes.get(folder)?.children) ?? []
    if (comers.length > 0) plan.placed = plan.placed.concat(placeAfter(siblings, comers))
  }
  await paced(byFolder, placeComers, signal)
  return plan
}

interface Group extends Target {
  items: readonly PlaintextBookmark[]
}

/** What is in no listed folder goes into the one given, or else stays in the folder that it names. */
function findTopLevel(
  list: readonly PlaintextBookmark[],
  contents: Contents,
  existing: PathIndex,
  into: string | undefined,
): Group[] {
  const listed = new Set<string | undefined>(list.filter((item) => kindOf(item) === 'folder').map(({ id }) => id))
  const top = contents.get(undefined) ?? []
  // Only Firefox's files mark its Other Bookmarks, and what is at their top level is its menu.
  const isFirefox = top.some((item) => roleOf(item) === 'other') && !list.some((item) => isMarked(item, 'menu'))
  const menu = isFirefox ? existing.marked.get('menu') : undefined
  const folderOf = (item: PlaintextBookmark) => item.parentId ?? (roleOf(item) ? undefined : menu)
  // What is not in its listed folder was taken out of a cycle.
  const parentOf = (item: PlaintextBookmark) => into ?? (listed.has(item.parentId) ? undefined : folderOf(item))
  const groups = Map.groupBy(top, parentOf)
  return [...groups].map(([parentId, items]) => ({ items, ...targetAt(parentId, existing) }))
}

function findComers(
  items: readonly PlaintextBookmark[],
  place: Place,
  existing: PathIndex,
  duplicates: ImportRules['duplicates'],
): PlaintextBookmark[] {
  const { urls, hasSeparator } = place
  const isThere = {
    link: ({ url = '' }: PlaintextBookmark) => duplicates === 'skip' && urls.has(url),
    folder: (item: PlaintextBookmark) => findFolder(item, place, existing).parentId !== item.id,
    separator: () => false,
  }
  const coming = items.filter((item) => !existing.nodes.has(item.id) && !isThere[kindOf(item)](item))
  const leavesSeparators = duplicates === 'skip' && hasSeparator
  return leavesSeparators && coming.every((item) => kindOf(item) === 'separator') ? [] : coming
}

function withParent({ parentId: _, ...bookmark }: PlaintextBookmark, parentId: string | undefined): PlaintextBookmark {
  return { ...bookmark, ...(parentId !== undefined && { parentId }) }
}

/** Gives positions to what comes. Returns the siblings that had no usable one, which would come last, with positions. */
function placeAfter(siblings: readonly TreeNode[], comers: readonly PlaintextBookmark[]): PlaintextBookmark[] {
  const last = siblings.findLastIndex(({ bookmark }) => isPosition(bookmark.position))
  const unplaced = siblings.slice(last + 1).map(({ bookmark }) => ({ ...bookmark }))
  const all = [...unplaced, ...comers]
  const positions = generateNKeysBetween(siblings[last]?.bookmark.position ?? null, null, all.length)
  for (const [index, bookmark] of all.entries()) bookmark.position = positions[index] as string
  return unplaced
}
