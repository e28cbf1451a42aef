/** `encrypted-bookmark-sync-client/extension`: keeps a browser's own bookmarks in step with a sync. For browser extensions. */
export type { Agreed, AgreedChange, AgreedRow, AgreedStore } from './extension/agreed.ts'
export { indexedDbAgreedStore } from './extension/agreed-store.ts'
export {
  type BrowserSync,
  type BrowserSyncOptions,
  type BrowserSyncState,
  type BrowserSyncStatus,
  createBrowserSync,
} from './extension/browser-sync.ts'
export type { Content, Kind } from './extension/entry.ts'
export type { Refused } from './extension/look.ts'
export type {
  BookmarkEvent,
  BookmarksApi,
  BrowserCookie,
  BrowserNode,
  CookiesApi,
  NewNode,
  SessionStorageApi,
} from './extension/platform.ts'
export { shareSessionWithSockets } from './extension/socket-cookie.ts'
export { type BookmarkWatch, watchBookmarks } from './extension/watch.ts'
