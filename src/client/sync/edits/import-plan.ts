import { generateNKeysBetween } from 'fractional-indexing'
import type { PlaintextBookmark } from '../../bookmark.ts'
import { arrange, type Contents, kindOf } from '../../bookmark-file/tree.ts'
import { paced } from '../../timing/paced.ts'
import type { TreeNode } from '../../tree.ts'
import { emptyPlace, indexPaths, type PathIndex, type Place } from './path-index.ts'
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
 * folders with the same titles are used again. What is listed twice is added twice, so the list loses nothing.
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

/** Where the contents of a listed folder go. */
interface Target {
  place: Place
  /** The id of the folder that shows them; undefined at the top level. */
  folder: string | undefined
  /** May be the id of a folder that does not exist: then the top level shows them. */
  parentId: string | undefined
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
  // What is not in its listed folder was taken out of a cycle.
  const parentOf = ({ parentId }: PlaintextBookmark) => into ?? (listed.has(parentId) ? undefined : parentId)
  const groups = Map.groupBy(contents.get(undefined) ?? [], parentOf)
  return [...groups].map(([parentId, items]) => ({ items, ...targetAt(parentId, existing) }))
}

function targetAt(parentId: string | undefined, { places }: PathIndex): Target {
  const folder = places.has(parentId) ? parentId : undefined
  return { place: places.get(folder) as Place, folder, parentId }
}

function findFolder({ id, title }: PlaintextBookmark, around: Place, existing: PathIndex): Target {
  if (existing.nodes.has(id)) return targetAt(id, existing)
  const same = around.folders.get(title)
  return same
    ? { place: same.place, folder: same.id, parentId: same.id }
    : { place: emptyPlace(), folder: id, parentId: id }
}

function findComers(
  items: readonly PlaintextBookmark[],
  { urls, folders, hasSeparator }: Place,
  { nodes }: PathIndex,
  duplicates: ImportRules['duplicates'],
): PlaintextBookmark[] {
  const isThere = {
    link: ({ url = '' }: PlaintextBookmark) => duplicates === 'skip' && urls.has(url),
    folder: ({ title }: PlaintextBookmark) => folders.has(title),
    separator: () => false,
  }
  const coming = items.filter((item) => !nodes.has(item.id) && !isThere[kindOf(item)](item))
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
