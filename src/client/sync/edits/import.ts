import type { OpenedExport, PlaintextBookmark } from '../../bookmark.ts'
import { RecordError } from '../../errors.ts'
import type { Keys } from '../../keys.ts'
import { paced } from '../../timing/paced.ts'
import { viewOf } from '../store/row.ts'
import type { Row } from '../store/store.ts'
import { type EditParts, queueEdits } from './queue.ts'
import { type SealedEdit, sealOne } from './seal.ts'

export interface ImportOptions {
  signal?: AbortSignal | undefined
  /** Called as the bookmarks are sealed, which is most of the work. */
  onProgress?: ((done: number, total: number) => void) | undefined
}

export interface RestoreOptions extends ImportOptions {
  /** Whether existing bookmarks are reset to the backup's version. Default: they stay as they are. */
  overwrite?: boolean | undefined
}

export interface ImportReport {
  /** Number of bookmarks queued; they are sent in batches (`status().waiting`). */
  imported: number
  /** Ids that already have a bookmark, which was left as it is. */
  existing: string[]
  /** Bookmarks left out: too large even without their icon, or without a valid id. */
  failed: { id: string; error: RecordError }[]
}

/** Adds the bookmarks that do not exist yet. */
export async function importList(
  parts: EditParts,
  bookmarks: readonly PlaintextBookmark[],
  options: ImportOptions,
): Promise<ImportReport> {
  return queueAccepted(parts, bookmarks, options, (row) => viewOf(row).bookmark === null)
}

/** Restores the bookmarks of a backup: those that are missing and, with `overwrite`, those that differ. */
export async function restoreList(
  parts: EditParts,
  { bookmarks }: Pick<OpenedExport, 'bookmarks'>,
  { overwrite = false, ...options }: RestoreOptions,
): Promise<ImportReport> {
  return overwrite ? queueAccepted(parts, bookmarks, options, () => true) : importList(parts, bookmarks, options)
}

/** Queues all bookmarks in one step: a reload before it has finished leaves none, a later one loses none. */
async function queueAccepted(
  parts: EditParts,
  bookmarks: readonly PlaintextBookmark[],
  { signal, onProgress }: ImportOptions,
  accepts: (row: Row) => boolean,
): Promise<ImportReport> {
  const edits = new Map<string, SealedEdit>()
  const existing: string[] = []
  const failed: ImportReport['failed'] = []
  const { cursor } = parts.replica.meta
  let done = 0
  await paced(
    bookmarks,
    (bookmark) => {
      try {
        if (edits.has(bookmark.id)) existing.push(bookmark.id)
        else edits.set(bookmark.id, sealFitting(parts.keys, bookmark))
      } catch (error) {
        if (!(error instanceof RecordError)) throw error
        failed.push({ id: bookmark.id, error })
      }
      onProgress?.(++done, bookmarks.length)
    },
    signal,
  )
  signal?.throwIfAborted()
  const accepted = (row: Row) => {
    const isAccepted = accepts(row)
    if (!isAccepted) existing.push(row.id)
    return isAccepted
  }
  await queueEdits(parts, [...edits.values()], cursor, accepted)
  return { imported: bookmarks.length - existing.length - failed.length, existing, failed }
}

/** A bookmark must not be lost because its icon is too large. */
function sealFitting(keys: Keys, bookmark: PlaintextBookmark): SealedEdit {
  try {
    return sealOne(keys, bookmark)
  } catch (error) {
    if (!(error instanceof RecordError) || error.fault !== 'too-large') throw error
    return sealOne(keys, withoutExtras(bookmark))
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
