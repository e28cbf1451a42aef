import { isEqual } from '../../client/bookmark/equal.ts'
import type { OpenedExport, RestoreOptions, Sync } from '../../client/index.ts'
import type { Bookmark } from '../library/kind.ts'
import { tell } from '../ui/tell.ts'

/** The backup's bookmarks that are not there now, and those of now that the backup has otherwise. */
export function compare(sync: Sync, bookmarks: readonly Bookmark[]): { missing: Bookmark[]; changed: Bookmark[] } {
  const missing = bookmarks.filter(({ id }) => sync.get(id) === undefined)
  const changed = bookmarks.flatMap((bookmark) => {
    const now = sync.get(bookmark.id)
    return now && !isEqual(now, bookmark) ? now : []
  })
  return { missing, changed }
}

/** Puts back what a backup has. The message that tells of it takes it back. */
export async function restoreBackup(sync: Sync, opened: OpenedExport, options: RestoreOptions): Promise<void> {
  const { missing, changed } = compare(sync, opened.bookmarks)
  const { imported, failed } = await sync.restoreExport(opened, options)
  const added = missing.filter(({ id }) => sync.get(id) !== undefined)
  const reset = imported - added.length
  const parts = [
    `${added.length.toLocaleString()} added`,
    ...(reset > 0 ? [`${reset.toLocaleString()} reset`] : []),
    ...(failed.length > 0 ? [`${failed.length.toLocaleString()} could not be restored`] : []),
  ]
  tell(`From the backup: ${parts.join(', ')}`, {
    undo: async () => {
      await sync.remove(added.map(({ id }) => id))
      if (reset > 0) await sync.put(changed)
    },
  })
}
