import { useMemo } from 'preact/hooks'
import { createHistory, type History } from '../../client/history.ts'
import type { Sync } from '../../client/index.ts'
import { useApp } from '../app/context.ts'
import { type Bookmark, quoted } from '../library/kind.ts'
import { tell } from '../ui/tell.ts'

export function useHistory(): History {
  const app = useApp()
  return useMemo(() => createHistory(app), [app])
}

/** Makes a version current again, or what a deleted bookmark was, and offers to take that back. */
export async function restore(history: History, sync: Sync, id: string, versionId?: string): Promise<void> {
  const before = sync.get(id)
  await history.restoreVersion(id, versionId)
  const after = sync.get(id)
  tell(after ? `${quoted(after)} restored${placeOf(sync, after)}` : 'Restored. The next sync shows it.', {
    undo: () => (before ? sync.put(before, { seen: after }) : sync.remove(id)),
  })
}

/** Brings a deleted folder back with what was in it, in one step. */
export async function restoreFolder(sync: Sync, bookmarks: readonly [Bookmark, ...Bookmark[]]): Promise<void> {
  const [folder, ...inside] = bookmarks
  await sync.put(bookmarks)
  await sync.syncNow()
  tell(`${quoted(folder)} and ${inside.length.toLocaleString()} in it restored${placeOf(sync, folder)}`, {
    undo: () => sync.remove(bookmarks.map(({ id }) => id)),
  })
}

function placeOf(sync: Sync, { parentId }: Bookmark): string {
  return parentId === undefined || sync.get(parentId) ? '' : ' to the top level: its folder is not there any more'
}
