/**
 * `encrypted-bookmark-sync-client/react`: hooks for React 18 and 19. A component is rendered again only when what its hook
 * returns differs.
 */

export {
  useBookmark,
  useBookmarks,
  useConflicts,
  useFolder,
  useSelection,
  useSyncStatus,
} from './react/hooks.ts'
export { SyncProvider, useSync } from './react/provider.ts'
