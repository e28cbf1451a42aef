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
  /** Whether bookmarks that are there become as they were in the backup, too. Default: they stay as they are. */
  overwrite?: boolean | undefined
}

export interface ImportReport {
  /** Queued; they reach the service batch by batch (`status().waiting`). */
  imported: number
  /** Left as they are: a bookmark with that id is there. */
  existing: string[]
  /** Left out: too large, even without their icon, or without a usable id. */
  failed: { id: string; error: RecordError }[]
}

/** Adds those that are not there. */
export async function importList(
  parts: EditParts,
  bookmarks: readonly PlaintextBookmark[],
  options: ImportOptions,
): Promise<ImportReport> {
  return queueAccepted(parts, bookmarks, options, (row) => viewOf(row).bookmark === null)
}

/** Puts the bookmarks of a backup back: those that are gone, and with `overwrite` those that differ. */
export async function restoreList(
  parts: EditParts,
  { bookmarks }: Pick<OpenedExport, 'bookmarks'>,
  { overwrite = false, ...options }: RestoreOptions,
): Promise<ImportReport> {
  return overwrite ? queueAccepted(parts, bookmarks, options, () => true) : importList(parts, bookmarks, options)
}

/** Queues them all in one step: a reload in between leaves none, one after it loses none. */
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

/** An icon of a hundred kilobytes is no reason to lose a bookmark. */
function sealFitting(keys: Keys, bookmark: PlaintextBookmark): SealedEdit {
  try {
    return sealOne(keys, bookmark)
  } catch (error) {
    if (!(error instanceof RecordError) || error.fault !== 'too-large') throw error
    return sealOne(keys, withoutExtras(bookmark))
  }
}

/** What makes the bookmark; neither its icon nor what a browser added. */
function withoutExtras(bookmark: PlaintextBookmark): PlaintextBookmark {
  const { id, title, source, url, parentId, position, dateAdded, dateModified, folder, path, tags, domain } = bookmark
  const { description, type } = bookmark
  const kept = { url, parentId, position, dateAdded, dateModified, folder, path, tags, domain, description, type }
  const present = Object.entries(kept).filter(([, value]) => value !== undefined)
  return { id, title, source, ...Object.fromEntries(present) }
}
