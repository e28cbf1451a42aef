import { requireForm } from '../../bookmark/form.ts'
import { hasGarbledText, hasGarbledTitle, withLegibleText } from '../../bookmark/garbled.ts'
import { isPosition, positionsBetween } from '../../bookmark/positions.ts'
import { kindOf, type TreeNode } from '../../bookmark/tree.ts'
import type { EntityType, PlaintextBookmark } from '../../bookmark.ts'
import { arrange, type Contents } from '../../bookmark-file/arrange.ts'
import { isFileId } from '../../bookmark-file/file-id.ts'
import { isMarked, markedId, markedRoles, noteMarked, type Role, roleOf } from '../../bookmark-file/marks.ts'
import { deriveId, type IdSource, idGiver, type Likeness } from '../../crypto/derived-id.ts'
import type { Keys } from '../../crypto/keys.ts'
import { RecordError } from '../../errors.ts'
import { nextTurn, paced } from '../../timing/paced.ts'
import type { Connected } from '../engine.ts'
import { idOf, rowKey } from '../store/key.ts'
import { viewOf } from '../store/row.ts'
import { correctedNow } from '../store/service-clock.ts'
import type { Row } from '../store/store.ts'
import { type Edit, queueEdits, type SealedEdit, sealOne } from './edit.ts'
import { requireSource } from './put.ts'
import { sealList } from './seal-list.ts'

/** The folder that imported bookmarks go to, and the treatment of duplicates. */
export interface ImportRules {
  /** The folder (id) for the list's top level. Default: each bookmark's `parentId`, Firefox's marked menu, or the top level. */
  into?: string | undefined
  /**
   * The treatment of a bookmark whose `url` exists already, in a folder with the same title and the same titles above it:
   * `skip` leaves it out, `keep` adds it unless its id exists. Separators are counted: if such a folder has three, the
   * file's first three are left out, and the others as well if nothing else is added to it. Default: `skip`.
   */
  duplicates?: 'skip' | 'keep' | undefined
}

/** The options of `importBookmarks`. */
export interface ImportOptions extends ImportRules {
  signal?: AbortSignal | undefined
  /** Called as the bookmarks are encrypted, which is most of the work. */
  onProgress?: ((done: number, total: number) => void) | undefined
}

/** The options of `restoreExport`. */
export interface RestoreOptions extends Pick<ImportOptions, 'signal' | 'onProgress'> {
  /** True: existing bookmarks are reset to the backup's version. Default: they stay as they are. */
  overwrite?: boolean | undefined
}

/** The outcome of an import or restore, by bookmark. */
export interface ImportReport {
  /** Number of bookmarks queued; they are sent in batches (`status().waiting`). */
  imported: number
  /** Ids of listed bookmarks that were left out: they exist, under this id or as a duplicate, or the id was listed before. */
  existing: string[]
  /** Ids of listed bookmarks that exist already and were repaired: their texts had been read in the wrong charset. */
  repaired: string[]
  /** Bookmarks left out: too large even without their icon and `attributes`, malformed, or without a valid id. */
  failed: { id: string; error: RecordError }[]
  /** Ids, as stored, of imported bookmarks that were too large: they lack their `favicon`, some their `attributes` too. */
  reduced: string[]
  /** Ids of the bookmarks that were added or changed, as they are stored; also siblings that had no usable position. */
  edited: string[]
}

/** Adds the bookmarks that do not exist yet, and repairs existing ones whose texts were read in the wrong charset. */
export async function importList(
  parts: Connected,
  bookmarks: readonly PlaintextBookmark[],
  options: ImportOptions,
): Promise<ImportReport> {
  const { replica, tabs, trees, keys, signal } = parts
  const importNow = async () => {
    // Another tab may have imported the same file meanwhile.
    await replica.load()
    const { formed, failed } = await sortByForm(bookmarks, signal)
    const ids: IdSource = {
      derive: (likeness) => deriveId(keys, likeness),
      // Deleted bookmarks may be added again, but unreadable ones must not be replaced.
      isTaken: (id) => viewOf(replica.rows.get(id)).bookmark !== null || !!replica.rows.get(id)?.unreadable,
    }
    const plan = await planImport(formed, trees.bookmark.read(), ids, options, signal)
    return queueAccepted(parts, formed, options, plan, failed)
  }
  return tabs.exclusively('import', importNow, signal)
}

/** Restores the records of a backup: those that are missing and, of `overwritten`, those that differ. See `queueAccepted`. */
export async function restoreList(
  parts: Connected,
  type: EntityType,
  bookmarks: readonly PlaintextBookmark[],
  options: Pick<RestoreOptions, 'onProgress'>,
  overwritten?: ReadonlyMap<string, Row>,
): Promise<ImportReport> {
  const { formed, failed } = await sortByForm(bookmarks, parts.signal, type)
  const added = new Map(formed.map((bookmark) => [bookmark, bookmark]))
  return queueAccepted(parts, formed, options, { ...emptyPlan(), added }, failed, overwritten, type)
}

/** Separates malformed bookmarks, so that the others are still imported. */
async function sortByForm(bookmarks: readonly PlaintextBookmark[], signal: AbortSignal, type: EntityType = 'bookmark') {
  const [formed, failed]: [PlaintextBookmark[], ImportReport['failed']] = [[], []]
  const sort = (bookmark: PlaintextBookmark) => {
    try {
      requireForm(bookmark)
      requireSource(bookmark, type)
      formed.push(bookmark)
    } catch (error) {
      if (!(error instanceof RecordError)) throw error
      failed.push({ id: bookmark.id, error })
    }
  }
  await paced(bookmarks, sort, signal)
  return { formed, failed }
}

function isMissing(row: Row): boolean {
  return viewOf(row).bookmark === null
}

function differs(row: Row, { sealed }: Edit): boolean {
  return viewOf(row).data_hash !== sealed?.data_hash
}

/**
 * Queues all bookmarks in one step: if the page is reloaded, either none or all of them are stored.
 *
 * @param overwritten the rows to reset to the bookmarks, as long as they are as they were then; without it, none is reset
 */
async function queueAccepted(
  parts: Connected,
  bookmarks: readonly PlaintextBookmark[],
  { onProgress }: Pick<ImportOptions, 'onProgress'>,
  { added, changed, repaired, dissolved, known }: ImportPlan,
  malformed: ImportReport['failed'],
  overwritten?: ReadonlyMap<string, Row>,
  type: EntityType = 'bookmark',
): Promise<ImportReport> {
  const isAsBefore = (row: Row) => viewOf(overwritten?.get(row.id)).data_hash === viewOf(row).data_hash
  const accepts = (row: Row, edit: Edit) => isMissing(row) || (isAsBefore(row) && differs(row, edit))
  const { replica, keys, signal } = parts
  const { rows, meta } = replica
  const { cursor } = meta
  const hashes = new Map([...changed.keys()].map((id) => [id, viewOf(rows.get(id)).data_hash]))
  let done = 0
  const advance = () => onProgress?.(++done, bookmarks.length)
  const additions = bookmarks.flatMap((bookmark) => added.get(bookmark) ?? [])
  const listedIds = new Map([...added].map(([listed, { id }]) => [rowKey(id, type), listed.id]))
  const listedId = (key: string) => listedIds.get(key) as string
  const others = bookmarks.filter((bookmark) => !added.has(bookmark))
  const existing = others.filter((bookmark) => !repaired.has(bookmark) && !dissolved.has(bookmark)).map(({ id }) => id)
  others.forEach(advance)
  const sealed = await sealList(keys, additions, signal, advance, type)
  const edits = new Map<string, SealedEdit>()
  const failed: ImportReport['failed'] = []
  const reduced = new Set<string>()
  const sort = ([index, addition]: [number, PlaintextBookmark]) => {
    const id = rowKey(addition.id, type)
    const whole = sealed[index] as SealedEdit | RecordError
    const edit = orReduced(keys, addition, whole, id)
    if (edits.has(id)) existing.push(listedId(id))
    else if (edit instanceof RecordError) failed.push({ id: listedId(id), error: edit })
    else {
      edits.set(id, edit)
      if (edit !== whole) reduced.add(id)
    }
  }
  await paced(additions.entries(), sort, signal)
  const resealed = await sealList(keys, [...changed.values()], signal)
  // An existing bookmark that would become too large stays as it is: the import must not fail.
  const changes = resealed.filter((edit): edit is SealedEdit => !(edit instanceof RecordError))
  const edited: string[] = []
  const accepted = (row: Row, edit: Edit) => {
    const { id } = row
    // Changed only if the bookmark is the same as when it was examined.
    const isChange = hashes.has(id)
    const isAccepted = isChange ? hashes.get(id) === viewOf(row).data_hash : accepts(row, edit)
    if (isAccepted) edited.push(id)
    else if (!isChange) {
      existing.push(listedId(id))
      known.add(id)
      reduced.delete(id)
    }
    return isAccepted
  }
  await queueEdits(parts, [...changes, ...edits.values()], cursor, accepted, ({ id }) =>
    edits.has(id) ? (overwritten ? 'restore' : 'import') : undefined,
  )
  await noteImport(parts, [...known])
  const imported = bookmarks.length - existing.length - repaired.size - dissolved.size - failed.length
  const mended = [...repaired].map(({ id }) => id)
  const ids = { reduced: [...reduced].map(idOf), edited: edited.map(idOf) }
  return { imported, existing, repaired: mended, failed: [...malformed, ...failed], ...ids }
}

/** Notes the import, so that an earlier delete of another device loses to it. */
async function noteImport({ replica, clock }: Connected, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await replica.commit(ids, 'local', (draft) => {
    const importedAt = correctedNow(clock, draft.meta)
    const note = (id: string) => {
      const row = draft.get(id)
      if (viewOf(row).bookmark) draft.set({ ...row, importedAt })
    }
    return paced(ids, note)
  })
}

/** Encrypts a bookmark without its icon if it is too large with it, or else without its attributes, too. */
function orReduced(
  keys: Keys,
  bookmark: PlaintextBookmark,
  sealed: SealedEdit | RecordError,
  key: string,
): SealedEdit | RecordError {
  if (!(sealed instanceof RecordError) || sealed.fault !== 'too-large') return sealed
  const { favicon, ...withoutIcon } = bookmark
  const { attributes, ...withoutEither } = withoutIcon
  let fault: unknown = sealed
  for (const reduced of [withoutIcon, withoutEither]) {
    try {
      return sealOne(keys, reduced, key)
    } catch (error) {
      fault = error
    }
  }
  if (fault instanceof RecordError) return fault
  throw fault
}

/** The bookmarks that an import adds and changes. */
interface ImportPlan {
  /** The bookmarks to add, with folder and position, by listed bookmark. One without an entry is not added. */
  added: Map<PlaintextBookmark, PlaintextBookmark>
  /** Existing bookmarks that change, by id: repaired ones, and those that get a position, to stay before the added ones. */
  changed: Map<string, PlaintextBookmark>
  /** The listed bookmarks that repair the text of existing ones. */
  repaired: Set<PlaintextBookmark>
  /** Listed folders that are not added, because Other Bookmarks is the top level here (see `PathIndex.marked`). */
  dissolved: Set<PlaintextBookmark>
  /** The ids of the existing bookmarks that are listed. */
  known: Set<string>
}

function emptyPlan(): ImportPlan {
  return { added: new Map(), changed: new Map(), repaired: new Set(), dissolved: new Set(), known: new Set() }
}

/**
 * Finds the place of each listed bookmark that does not exist yet: after what is there, in the order of the list. Existing
 * folders with the same titles are used again. What is listed twice, under two ids, is added twice. A folder at the top
 * level that is marked as a browser's toolbar, for example, is the existing one with this mark, whatever its title.
 *
 * Bookmarks read from a file get ids that are the same on another device, if it imports the same file before the two have
 * synced. So are the positions, if the folders had the same contents.
 *
 * @param list of bookmarks with the same id, the first is the one to add
 * @param tree what exists, as sorted by `buildTree`
 * @throws RangeError `into` is not a folder
 */
export async function planImport(
  list: readonly PlaintextBookmark[],
  tree: readonly TreeNode[],
  ids: IdSource,
  { into, duplicates = 'skip' }: ImportRules = {},
  signal?: AbortSignal | undefined,
): Promise<ImportPlan> {
  const existing = await indexPaths(tree, ids, signal)
  // A new folder must not get the id of a deleted folder that still has contents: they would be in it beside the file's.
  const left = new Set(tree.map(({ bookmark }) => bookmark.parentId))
  const idFor = idGiver({ ...ids, isTaken: (id) => left.has(id) || ids.isTaken(id) })
  if (!existing.places.has(into)) throw new RangeError(`There is no folder ${into}`)
  const contents = arrange(list)
  await nextTurn()
  const byFolder = new Map<string | undefined, PlaintextBookmark[]>()
  const plan = emptyPlan()
  const pending = findTopLevel(list, contents, existing, into)
  // A generator, so that `paced` can interrupt it: a single folder may contain the whole list.
  function* planAll(): Generator<void> {
    for (const { items, place, folder, parentId } of pending) {
      const additions = byFolder.get(folder) ?? []
      byFolder.set(folder, additions)
      for (const item of yield* findMissing(items, place, existing, duplicates)) {
        const addition = {
          ...withParent(item, parentId),
          id: isFileId(item.id) ? idFor(likenessOf(item, place)) : item.id,
        }
        plan.added.set(item, addition)
        additions.push(addition)
        yield
      }
      for (const item of items) {
        const addition = plan.added.get(item)
        if (!addition) repair(item, place, existing, plan)
        const inside = contents.get(item)
        const target = addition ? newFolder(addition, place, ids) : existingFolder(item, place, existing)
        if (target && target.parentId === undefined) plan.dissolved.add(item)
        if (inside && target) pending.push({ items: inside, ...target })
        yield
      }
    }
  }
  await paced(planAll(), () => {}, signal)
  const placeAdditions = ([folder, additions]: [string | undefined, PlaintextBookmark[]]) => {
    const siblings = (folder === undefined ? tree : existing.nodes.get(folder)?.children) ?? []
    if (additions.length > 0) placeAfter(siblings, additions, plan.changed)
  }
  await paced(byFolder, placeAdditions, signal)
  return plan
}

interface Group extends Target {
  items: readonly PlaintextBookmark[]
}

/** Bookmarks whose folder is not listed go into the given folder, or else the one that they name, or Firefox's menu. */
function findTopLevel(
  list: readonly PlaintextBookmark[],
  contents: Contents,
  existing: PathIndex,
  into: string | undefined,
): Group[] {
  const listed = new Set<string | undefined>(list.filter((item) => kindOf(item) === 'folder').map(({ id }) => id))
  const top = contents.get(undefined) ?? []
  // A file that marks Other Bookmarks but no menu is taken for Firefox's: the menu's contents are at its top level.
  const isFirefox = top.some((item) => roleOf(item) === 'other') && !list.some((item) => isMarked(item, 'menu'))
  const menu = isFirefox ? existing.marked.get('menu') : undefined
  const folderOf = (item: PlaintextBookmark) => item.parentId ?? (roleOf(item) ? undefined : menu)
  // If `arrange` has moved a bookmark to the top level although its folder is listed, it has cut a cycle.
  const parentOf = (item: PlaintextBookmark) => into ?? (listed.has(item.parentId) ? undefined : folderOf(item))
  const groups = Map.groupBy(top, parentOf)
  return [...groups].map(([parentId, items]) => ({ items, ...targetAt(parentId, existing) }))
}

function* findMissing(
  items: readonly PlaintextBookmark[],
  place: Place,
  existing: PathIndex,
  duplicates: ImportRules['duplicates'],
): Generator<void, PlaintextBookmark[]> {
  const { urls, separators } = place
  const skips = duplicates === 'skip'
  let listed = 0
  const isThere = {
    link: ({ url = '' }: PlaintextBookmark) => skips && urls.has(url),
    folder: (item: PlaintextBookmark) => existingFolder(item, place, existing) !== undefined,
    // Separators of a file have no lasting ids. They are matched by their count, because their neighbours may have changed.
    separator: ({ id }: PlaintextBookmark) => skips && isFileId(id) && ++listed <= separators,
  }
  const missing: PlaintextBookmark[] = []
  for (const item of items) {
    if (!existing.nodes.has(item.id) && !isThere[kindOf(item)](item)) missing.push(item)
    yield
  }
  return skips && separators > 0 && missing.every((item) => kindOf(item) === 'separator') ? [] : missing
}

/** Notes the existing bookmark that corresponds to the item, and repairs its text if that was read in the wrong charset. */
function repair(item: PlaintextBookmark, place: Place, existing: PathIndex, plan: ImportPlan): void {
  const { changed, repaired } = plan
  const { id } = existing.nodes.has(item.id) ? item : { id: sameIn(place, item) }
  const known = existing.nodes.get(id ?? '')?.bookmark
  if (known) plan.known.add(known.id)
  const legible = known && withLegibleText(changed.get(known.id) ?? known, item)
  if (!legible) return
  changed.set(legible.id, legible)
  repaired.add(item)
  place.garbledLinks.get(keyOf(item))?.delete(legible.id)
}

/** The id of the existing bookmark that corresponds to an item. */
function sameIn({ urls, folders, garbled, garbledLinks }: Place, item: PlaintextBookmark): string | undefined {
  const { url, title, dateAdded } = item
  if (url === undefined) return (folders.get(title.normalize()) ?? garbled.get(dateAdded ?? ''))?.id
  const [illegible] = garbledLinks.get(keyOf(item)) ?? []
  return illegible ?? urls.get(url)
}

function keyOf({ url, dateAdded = '' }: Readonly<PlaintextBookmark>): string {
  return `${dateAdded} ${url}`
}

function withParent({ parentId: _, ...bookmark }: PlaintextBookmark, parentId: string | undefined): PlaintextBookmark {
  return { ...bookmark, ...(parentId !== undefined && { parentId }) }
}

/** Gives positions to additions, and to siblings without a usable one, which would otherwise come after them. */
function placeAfter(
  siblings: readonly TreeNode[],
  additions: readonly PlaintextBookmark[],
  changed: ImportPlan['changed'],
): void {
  const last = siblings.findLastIndex(({ bookmark }) => isPosition(bookmark.position))
  const unplaced = siblings.slice(last + 1).map(({ bookmark }) => ({ ...(changed.get(bookmark.id) ?? bookmark) }))
  const all = [...unplaced, ...additions]
  // Depends on the ids alone, so that devices that add the same bookmarks in the same place give them the same positions.
  const maker = all.map(({ id }) => id).join()
  const positions = positionsBetween(siblings[last]?.bookmark.position ?? null, null, all.length, maker)
  for (const [index, bookmark] of all.entries()) bookmark.position = positions[index] as string
  for (const sibling of unplaced) changed.set(sibling.id, sibling)
}

/** The folder that a listed folder's contents go to. */
interface Target {
  place: Place
  /** The id of the folder that contains them; undefined at the top level. */
  folder: string | undefined
  /** The `parentId` that they get. If there is no such folder, they appear at the top level. */
  parentId: string | undefined
}

function targetAt(parentId: string | undefined, { places }: PathIndex): Target {
  const folder = places.has(parentId) ? parentId : undefined
  return { place: places.get(folder) as Place, folder, parentId }
}

/**
 * The existing folder with the same id or title. For a browser's own folder, such as the toolbar, that is put at the top
 * level, the existing one with the same mark, whatever its title.
 */
function existingFolder(item: PlaintextBookmark, around: Place, existing: PathIndex): Target | undefined {
  const { id, title, dateAdded = '' } = item
  const { nodes, places, marked } = existing
  if (nodes.has(id)) return targetAt(id, existing)
  const same = around.folders.get(title.normalize()) ?? around.garbled.get(dateAdded)
  const role = around === places.get(undefined) ? roleOf(item) : undefined
  const isSame = same && roleOf(nodes.get(same.id)?.bookmark) === role
  if (role && !isSame && marked.has(role)) return targetAt(marked.get(role), existing)
  return same && { place: same.place, folder: same.id, parentId: same.id }
}

function newFolder(folder: PlaintextBookmark, around: Place, ids: IdSource): Target {
  return { place: placeInside(folder, around, ids), folder: folder.id, parentId: folder.id }
}

/** The contents of all folders with the same path of titles. */
interface Place {
  /** The derived id of a folder with this path; empty at the top level. */
  key: string
  /** The id of the first link with each address. */
  urls: Map<string, string>
  separators: number
  /** The existing folders by normalized title: the id of the first one, and the contents of all with that title. */
  folders: Map<string, { id: string; place: Place }>
  /** The folders whose title was read in the wrong charset, by `dateAdded`: titles cannot identify them. */
  garbled: Map<string, { id: string; place: Place }>
  /** The ids of the links with a text that was read in the wrong charset, by `dateAdded` and address. */
  garbledLinks: Map<string, Set<string>>
}

/** An index of the existing bookmarks by id and by path. */
interface PathIndex {
  nodes: Map<string, TreeNode>
  /** Keyed by the folder's id; the key `undefined` stands for the top level. */
  places: Map<string | undefined, Place>
  /** The ids of folders with a browser's mark. If an extension has created folders, `other` is undefined: the top level. */
  marked: Map<Role, string | undefined>
}

async function indexPaths(
  tree: readonly TreeNode[],
  ids: IdSource,
  signal: AbortSignal | undefined,
): Promise<PathIndex> {
  const nodes = new Map<string, TreeNode>()
  const top = emptyPlace('')
  const places = new Map<string | undefined, Place>([[undefined, top]])
  const marked: PathIndex['marked'] = new Map()
  const pending = tree.map((node) => ({ node, place: top }))
  const enterNode = ({ node, place }: (typeof pending)[number]) => {
    const { id } = node.bookmark
    nodes.set(id, node)
    noteMarked(marked, node.bookmark)
    if (place === top && roleOf(node.bookmark) === 'other' && !marked.has('other')) marked.set('other', id)
    const inside = enter(place, node.bookmark, ids)
    if (!inside) return
    places.set(id, inside)
    for (const child of node.children) pending.push({ node: child, place: inside })
  }
  await paced(pending, enterNode, signal)
  if (markedRoles.some((role) => nodes.has(markedId(role)))) marked.set('other', undefined)
  return { nodes, places, marked }
}

function emptyPlace(key: string): Place {
  return { key, urls: new Map(), separators: 0, folders: new Map(), garbled: new Map(), garbledLinks: new Map() }
}

/** Adds an existing bookmark to the index; returns the place inside if it is a folder. */
function enter(place: Place, bookmark: Readonly<PlaintextBookmark>, ids: IdSource): Place | undefined {
  const kind = kindOf(bookmark)
  const { id, url = '', title, dateAdded } = bookmark
  if (kind === 'link' && !place.urls.has(url)) place.urls.set(url, id)
  if (kind === 'link' && hasGarbledText(bookmark)) {
    const key = keyOf(bookmark)
    place.garbledLinks.set(key, (place.garbledLinks.get(key) ?? new Set()).add(id))
  }
  if (kind === 'separator') place.separators++
  if (kind !== 'folder') return undefined
  const name = title.normalize()
  const same = place.folders.get(name) ?? { id, place: placeInside(bookmark, place, ids) }
  place.folders.set(name, same)
  if (dateAdded && hasGarbledTitle(bookmark)) place.garbled.set(dateAdded, same)
  return same.place
}

function placeInside(folder: Readonly<PlaintextBookmark>, around: Place, { derive }: IdSource): Place {
  return emptyPlace(derive({ ...likenessOf(folder, around), ordinal: 0 }))
}

function likenessOf(item: Readonly<PlaintextBookmark>, { key }: Place): Omit<Likeness, 'ordinal'> {
  const kind = kindOf(item)
  // The titles of browsers' own folders depend on the user's language.
  const role = key === '' ? roleOf(item) : undefined
  if (role) return { place: key, kind: 'browser', name: role }
  const names = { link: item.url ?? '', folder: item.title, separator: '' }
  return { place: key, kind, name: names[kind] }
}
