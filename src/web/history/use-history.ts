import { useEffect, useMemo, useState } from 'preact/hooks'
import { createHistory, type History } from '../../client/history.ts'
import type { Sync } from '../../client/index.ts'
import { useSync } from '../../client/react.ts'
import { type Bookmark, quoted } from '../library/kind.ts'
import { reversible } from '../library/reversible.ts'
import { useApp } from '../session/context.ts'
import { tell } from '../ui/tell.ts'
import { later } from '../words/later.ts'

export function useHistory(): History {
  const app = useApp()
  return useMemo(() => createHistory(app), [app])
}

/** Counts changes from other devices. After each, a history loaded from the service may be out of date. */
export function useRemoteChanges(): number {
  const sync = useSync()
  const [changes, setChanges] = useState(0)
  useEffect(() => sync.on('change', ({ origin }) => origin === 'remote' && setChanges((count) => count + 1)), [sync])
  return changes
}

/** Restores a version, or a deleted bookmark, and offers to undo that. */
export async function restore(history: History, sync: Sync, id: string, versionId?: string): Promise<void> {
  const before = sync.get(id)
  await history.restoreVersion(id, versionId)
  const after = sync.get(id)
  const undo = reversible(sync, (edits) => (before ? edits.put(before, { seen: after }) : edits.remove(id)))
  tell(after ? restoredText(sync, after, quoted(after)) : later.history.restoredLater, undo)
}

/** Restores deleted bookmarks in one step, such as a folder with its contents. */
export async function restoreAll(sync: Sync, bookmarks: readonly Bookmark[]): Promise<void> {
  const [first, ...others] = bookmarks
  if (!first) return
  await sync.put(bookmarks)
  await sync.syncNow()
  const ids = new Set(bookmarks.map(({ id }) => id))
  const isFolderWhole = others.every(({ parentId = '' }) => ids.has(parentId))
  const withOthers = isFolderWhole ? later.history.withContents : later.history.withMore
  const what = others.length > 0 ? withOthers(quoted(first), others.length) : quoted(first)
  tell(
    restoredText(sync, first, what),
    reversible(sync, (edits) => edits.remove([...ids])),
  )
}

function restoredText(sync: Sync, { parentId }: Bookmark, what: string): string {
  const isInPlace = parentId === undefined || sync.get(parentId)
  return isInPlace ? later.history.restored(what) : later.history.restoredToTop(what)
}
