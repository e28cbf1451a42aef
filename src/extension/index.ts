/** `encrypted-bookmark-sync-client/extension`: keeps a browser's own bookmarks in step with a sync. For browser extensions. */
export type { Agreed, AgreedChange, AgreedRow, AgreedStore } from './agreed.ts'
export { indexedDbAgreedStore } from './agreed-store.ts'
export {
  type BrowserSync,
  type BrowserSyncOptions,
  type BrowserSyncState,
  type BrowserSyncStatus,
  createBrowserSync,
} from './browser-sync.ts'
export type { Content, Kind } from './entry.ts'
export type { Refused } from './look.ts'
export type {
  BookmarkEvent,
  BookmarkEventInfo,
  BookmarksApi,
  BrowserCookie,
  BrowserNode,
  CookiesApi,
  NewNode,
  SessionStorageApi,
} from './platform.ts'
export { shareSessionWithSockets } from './socket-cookie.ts'
export { wakefulSocket } from './wakeful-socket.ts'
export { type BookmarkWatch, type Touched, watchBookmarks } from './watch.ts'
