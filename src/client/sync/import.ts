import type { PlaintextBookmark } from '../bookmark.ts'
import { RecordError } from '../errors.ts'
import type { Engine } from './engine.ts'
import { paced } from './paced.ts'
import { queueEdits } from './queue.ts'
import { viewOf } from './row.ts'
import { type SealedEdit, sealOne } from './seal.ts'
import type { Row } from './store.ts'

export interface ImportOptions {
  signal?: AbortSignal | undefined
  /** Called as the bookmarks are sealed, which is most of the work. */
  onProgress?: ((done: number, total: number) => void) | undefined
}

export interface ImportReport {
  /** Queued; they reach the service batch by batch (`status().waiting`). */
  imported: number
  /** Left as they are: a bookmark with that id is there. */
  existing: string[]
  /** Left out: too large, even without their icon, or without a usable id. */
  failed: { id: string; error: RecordError }[]
}

/** Queues them all in one step: a reload in between leaves none, one after it loses none. */
export async function importList(
  engine: Engine,
  bookmarks: readonly PlaintextBookmark[],
  { signal, onProgress }: ImportOptions,
  accepts: (row: Row) => boolean = (row) => viewOf(row).bookmark === null,
): Promise<ImportReport> {
  const edits = new Map<string, SealedEdit>()
  const existing: string[] = []
  const failed: ImportReport['failed'] = []
  const { cursor } = engine.replica.meta
  let done = 0
  await paced(
    bookmarks,
    (bookmark) => {
      try {
        if (edits.has(bookmark.id)) existing.push(bookmark.id)
        else edits.set(bookmark.id, sealFitting(engine, bookmark))
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
  await queueEdits(engine, [...edits.values()], cursor, accepted)
  return { imported: bookmarks.length - existing.length - failed.length, existing, failed }
}

/** An icon of a hundred kilobytes is no reason to lose a bookmark. */
function sealFitting({ keys }: Engine, bookmark: PlaintextBookmark): SealedEdit {
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
