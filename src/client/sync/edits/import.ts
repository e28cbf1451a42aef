import type { OpenedExport, PlaintextBookmark } from '../../bookmark.ts'
import type { Keys } from '../../crypto/keys.ts'
import { RecordError } from '../../errors.ts'
import { paced } from '../../timing/paced.ts'
import { viewOf } from '../store/row.ts'
import type { Row } from '../store/store.ts'
import type { Tabs } from '../store/tabs.ts'
import type { Edit } from './edit.ts'
import { type ImportPlan, type ImportRules, planImport } from './import-plan.ts'
import type { MoveParts } from './move.ts'
import { type EditParts, queueEdits } from './queue.ts'
import { type SealedEdit, sealOne } from './seal.ts'
import { sealList } from './seal-list.ts'

/** How `importBookmarks` proceeds. */
export interface ImportOptions extends ImportRules {
  signal?: AbortSignal | undefined
  /** Called as the bookmarks are sealed, which is most of the work. */
  onProgress?: ((done: number, total: number) => void) | undefined
}

/** How `restoreExport` proceeds. */
export interface RestoreOptions extends Pick<ImportOptions, 'signal' | 'onProgress'> {
  /** Whether existing bookmarks are reset to the backup's version. Default: they stay as they are. */
  overwrite?: boolean | undefined
}

/** What became of the bookmarks of an import. */
export interface ImportReport {
  /** Number of bookmarks queued; they are sent in batches (`status().waiting`). */
  imported: number
  /** Ids of listed bookmarks that exist already, under this id or as a duplicate, and of which nothing was changed. */
  existing: string[]
  /** Bookmarks left out: too large even without their icon, or without a valid id. */
  failed: { id: string; error: RecordError }[]
}

interface ImportParts extends MoveParts {
  tabs: Tabs
}

/** Adds the bookmarks that do not exist yet. */
export async function importList(
  parts: ImportParts,
  bookmarks: readonly PlaintextBookmark[],
  options: ImportOptions,
): Promise<ImportReport> {
  const { replica, tabs, tree } = parts
  const importNow = async () => {
    // Another tab may just have imported the same file.
    await replica.load()
    const plan = await planImport(bookmarks, tree.read(), options, options.signal)
    return queueAccepted(parts, bookmarks, options, isMissing, plan)
  }
  return tabs.exclusively('import', importNow, options.signal)
}

/** Restores the bookmarks of a backup: those that are missing and, with `overwrite`, those that differ. */
export async function restoreList(
  parts: EditParts,
  { bookmarks }: Pick<OpenedExport, 'bookmarks'>,
  { overwrite = false, ...options }: RestoreOptions,
): Promise<ImportReport> {
  const inTheirPlaces = { added: new Map(bookmarks.map((bookmark) => [bookmark, bookmark])), placed: [] }
  return queueAccepted(parts, bookmarks, options, overwrite ? differs : isMissing, inTheirPlaces)
}

function isMissing(row: Row): boolean {
  return viewOf(row).bookmark === null
}

function differs(row: Row, { sealed }: Edit): boolean {
  return viewOf(row).data_hash !== sealed?.data_hash
}

/** Queues all bookmarks in one step: a reload before it has finished leaves none, a later one loses none. */
async function queueAccepted(
  parts: EditParts,
  bookmarks: readonly PlaintextBookmark[],
  { signal, onProgress }: Pick<ImportOptions, 'signal' | 'onProgress'>,
  accepts: (row: Row, edit: Edit) => boolean,
  { added, placed }: ImportPlan,
): Promise<ImportReport> {
  const { rows, meta } = parts.replica
  const { cursor } = meta
  const hashes = new Map(placed.map(({ id }) => [id, viewOf(rows.get(id)).data_hash]))
  let done = 0
  const advance = () => onProgress?.(++done, bookmarks.length)
  const comers = bookmarks.flatMap((bookmark) => added.get(bookmark) ?? [])
  const existing = bookmarks.filter((bookmark) => !added.has(bookmark)).map(({ id }) => id)
  existing.forEach(advance)
  const sealed = await sealList(parts.keys, comers, signal, advance)
  const edits = new Map<string, SealedEdit>()
  const failed: ImportReport['failed'] = []
  const sort = ([index, comer]: [number, PlaintextBookmark]) => {
    const { id } = comer
    const edit = orWithoutExtras(parts.keys, comer, sealed[index] as SealedEdit | RecordError)
    if (edits.has(id)) existing.push(id)
    else if (edit instanceof RecordError) failed.push({ id, error: edit })
    else edits.set(id, edit)
  }
  await paced(comers.entries(), sort, signal)
  const positioned = await sealList(parts.keys, placed, signal, () => {})
  // An import must not fail because a sibling of what it adds has no room left for a position.
  const moves = positioned.filter((edit): edit is SealedEdit => !(edit instanceof RecordError))
  const accepted = (row: Row, edit: Edit) => {
    // Only where the bookmark is still as it was when its position was found.
    if (hashes.has(row.id)) return hashes.get(row.id) === viewOf(row).data_hash
    const isAccepted = accepts(row, edit)
    if (!isAccepted) existing.push(row.id)
    return isAccepted
  }
  await queueEdits(parts, [...moves, ...edits.values()], cursor, accepted)
  return { imported: bookmarks.length - existing.length - failed.length, existing, failed }
}

/** A bookmark must not be lost because its icon is too large. */
function orWithoutExtras(
  keys: Keys,
  bookmark: PlaintextBookmark,
  sealed: SealedEdit | RecordError,
): SealedEdit | RecordError {
  if (!(sealed instanceof RecordError) || sealed.fault !== 'too-large') return sealed
  try {
    return sealOne(keys, withoutExtras(bookmark))
  } catch (error) {
    if (error instanceof RecordError) return error
    throw error
  }
}

/** The bookmark without its icon and the browser's extra attributes. */
function withoutExtras(bookmark: PlaintextBookmark): PlaintextBookmark {
  const { id, title, source, url, parentId, position, dateAdded, dateModified, folder, path, tags, domain } = bookmark
  const { description, type } = bookmark
  const kept = { url, parentId, position, dateAdded, dateModified, folder, path, tags, domain, description, type }
  const present = Object.entries(kept).filter(([, value]) => value !== undefined)
  return { id, title, source, ...Object.fromEntries(present) }
}
