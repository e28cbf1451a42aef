/**
 * `encrypted-bookmark-sync-client/react`: hooks for React 18 and 19. A component renders again only when
 * the result of its hook differs.
 */
'use client'

import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useMemo,
  useSyncExternalStore,
} from 'react'
import type { TreeNode } from './bookmark/tree.ts'
import type { PlaintextBookmark } from './bookmark.ts'
import type { Conflict, SyncStatus } from './sync/store/emitter.ts'
import type { Sync, SyncReader } from './sync/sync.ts'

const SyncContext = createContext<Sync | undefined>(undefined)

/** Provides the sync to the hooks of the components inside. The app itself starts and stops the sync. */
export function SyncProvider({ sync, children }: { sync: Sync; children?: ReactNode }): ReactElement {
  return createElement(SyncContext.Provider, { value: sync }, children)
}

/** The sync of the nearest SyncProvider, for edits: `useSync().put(…)`. */
export function useSync(): Sync {
  const sync = useContext(SyncContext)
  if (!sync) throw new Error('This hook needs a <SyncProvider> around it')
  return sync
}

/** All bookmarks in their folders, as `Sync.tree` returns them. A folder in which nothing has changed is the same object. */
export function useBookmarks(): readonly TreeNode[] {
  return useSelection(readTree)
}

/** The bookmark with this id; undefined if it does not exist or was deleted. */
export function useBookmark(id: string): Readonly<PlaintextBookmark> | undefined {
  return useSelection(useCallback((sync: SyncReader) => sync.get(id), [id]))
}

/**
 * The ids of the bookmarks in a folder, or without `id` at the top level, in order. The component renders again when this
 * list changes, but not when a bookmark in it does: show each bookmark with `useBookmark` in a component of its own.
 *
 * @param from with `to`: returns only this part of the list (as `Array.slice`), for a list that renders only visible rows
 */
export function useFolder(id?: string, from?: number, to?: number): readonly string[] {
  return useSelection(useCallback((sync: SyncReader) => sync.contents(id).slice(from, to), [id, from, to]))
}

/** The number of bookmarks in a folder, or without `id` at the top level. */
export function useFolderSize(id?: string): number {
  return useSelection(useCallback((sync: SyncReader) => sync.contents(id).length, [id]))
}

/** The sync's `status()`. */
export function useSyncStatus(): SyncStatus {
  return useSelection(readStatus)
}

/** True while the bookmark has an edit that the service has not accepted. */
export function useIsWaiting(id: string): boolean {
  return useSelection(useCallback((sync: SyncReader) => sync.isWaiting(id), [id]))
}

/** The sync's `conflicts()`: this device's edits that lost to another device's or tab's, for the user to decide. */
export function useConflicts(): readonly Conflict[] {
  return useSelection(readConflicts)
}

/**
 * The selector's result, by the rules of `Sync.select`.
 *
 * @param selector a function from outside the component, or from `useCallback`
 */
export function useSelection<T>(selector: (sync: SyncReader) => T): T {
  const sync = useSync()
  const { read, subscribe } = useMemo(() => sync.select(selector), [sync, selector])
  return useSyncExternalStore(subscribe, read, read)
}

const readTree = (sync: SyncReader) => sync.tree()
const readStatus = (sync: SyncReader) => sync.status()
const readConflicts = (sync: SyncReader) => sync.conflicts()
