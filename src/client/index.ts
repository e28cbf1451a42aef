/** `encrypted-bookmark-sync-client`: typed calls, the vault, and the sync engine. */
export type { components, operations, paths } from '../../generated/client.ts'
export type { SendRequest } from './api/send.ts'
export { type Client, type ClientOptions, createClient } from './api.ts'
export { base64ToBytes, bytesToBase64 } from './base64.ts'
export * from './crypto.ts'
export {
  ApiError,
  OfflineError,
  RollbackError,
  SignedOutError,
  StorageFullError,
  UnsentChangesError,
  VaultExistsError,
} from './errors.ts'
export { forgetMasterKey, keepMasterKey, loadMasterKey } from './master-key.ts'
export type { OpenWebSocket } from './sync/exchange/transport.ts'
export type { Conflict, SyncEvents, SyncState, SyncStatus } from './sync/store/emitter.ts'
export { indexedDbStore } from './sync/store/indexed-db.ts'
export { memoryStore } from './sync/store/memory.ts'
export type { Store } from './sync/store/store.ts'
export { createTabs, type Tabs } from './sync/store/tabs.ts'
export { createSync, type Sync, type SyncOptions } from './sync.ts'
export { buildTree, type TreeNode } from './tree.ts'
export { unwrap } from './unwrap.ts'
export {
  changeVaultPassphrase,
  createVault,
  hasVault,
  openVault,
  type RecoveryCodeDraft,
  replaceRecoveryCode,
  type Vault,
  type VaultDraft,
} from './vault.ts'
