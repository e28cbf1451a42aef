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
  BookmarkEventInfo,
  BookmarksApi,
  BrowserCookie,
  BrowserNode,
  CookiesApi,
  NewNode,
  SessionStorageApi,
} from './extension/platform.ts'
export { shareSessionWithSockets } from './extension/socket-cookie.ts'
export { wakefulSocket } from './extension/wakeful-socket.ts'
export { type BookmarkWatch, type Touched, watchBookmarks } from './extension/watch.ts'
