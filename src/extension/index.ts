/** `encrypted-bookmark-sync-client/extension`: keeps a browser's own bookmarks in step with a sync. For browser extensions. */

// Not from the main entry: a worker is a single file, in which bundlers would include all that the main entry loads later.
export { type Client, type ClientOptions, createClient } from '../client/api/client.ts'
export { unwrap } from '../client/api/unwrap.ts'
export type { Role } from '../client/bookmark-file/marks.ts'
export { deriveId, type Likeness } from '../client/crypto/derived-id.ts'
export { deriveKeys, type Keys } from '../client/crypto/keys.ts'
export { indexedDbStore } from '../client/sync/store/indexed-db.ts'
export { loadMasterKey } from '../client/vault/master-key.ts'
export type { Agreed, AgreedChange, AgreedRow, AgreedStore, Removal } from './agreed.ts'
export { indexedDbAgreedStore } from './agreed.ts'
export type {
  BookmarkEvent,
  BookmarkEventInfo,
  BookmarksApi,
  BrowserCookie,
  BrowserNode,
  CookiesApi,
  NewNode,
  SessionStorageApi,
} from './browser-api.ts'
export { type BookmarkWatch, type Touched, watchBookmarks } from './browser-mirror.ts'
export {
  type BrowserSync,
  type BrowserSyncOptions,
  type BrowserSyncState,
  type BrowserSyncStatus,
  createBrowserSync,
} from './browser-sync.ts'
export type { Refused } from './compare.ts'
export type { Copy } from './copies.ts'
export { shareSessionWithSockets, wakefulSocket } from './socket.ts'
export { createSync, type ExtensionSync } from './sync.ts'
export type { Content, Kind, Roots } from './trees.ts'
