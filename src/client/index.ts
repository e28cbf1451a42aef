/** `encrypted-bookmark-sync-client`: typed calls, the vault, and the sync engine. */
export type { components, operations, paths } from '../../generated/client.ts'
export { type Client, type ClientOptions, createClient } from './api/client.ts'
export type { SendRequest } from './api/retry.ts'
export { type CallResult, unwrap } from './api/unwrap.ts'
export { buildTree } from './bookmark/build-tree.ts'
export type { TreeNode } from './bookmark/tree.ts'
export { base64ToBytes, bytesToBase64 } from './crypto/base64.ts'
export * from './crypto.ts'
export {
  ApiError,
  BackupFailedError,
  type ErrorCode,
  type Feature,
  OfflineError,
  RollbackError,
  SignedOutError,
  SignInAgainError,
  StorageFullError,
  StoreBlockedError,
  StoreVersionError,
  UnsentChangesError,
  UnsupportedError,
  VaultExistsError,
} from './errors.ts'
export {
  type BackupOptions,
  type BackupProgress,
  type BackupSecret,
  createBackup,
  downloadBackup,
  type OpenBackupOptions,
  openBackup,
} from './export-file/backup.ts'
export { createSync } from './sync/create-sync.ts'
export type { RemoveOptions } from './sync/edits/edit.ts'
export type { ImportOptions, ImportReport, ImportRules, RestoreOptions } from './sync/edits/import.ts'
export type { Place } from './sync/edits/move.ts'
export type { Patch, PutOptions, Update } from './sync/edits/put.ts'
export type { Quarantined } from './sync/edits/quarantine.ts'
export type { Named } from './sync/edits/refused.ts'
export type { SyncExplanation, WaitingEdits } from './sync/exchange/explain.ts'
export type { ExchangeNote } from './sync/exchange/journal.ts'
export type { OpenWebSocket, RealtimeSocket } from './sync/exchange/transport.ts'
export type { SignOutOptions } from './sync/life/run.ts'
export type { SearchOptions, SearchQuery } from './sync/search/search.ts'
export type { Conflict, SyncEvents, SyncProgress, SyncReason, SyncState, SyncStatus } from './sync/store/emitter.ts'
export { indexedDbStore } from './sync/store/indexed-db.ts'
export type { RecordName } from './sync/store/key.ts'
export { memoryStore } from './sync/store/memory.ts'
export type { Held, Meta, Refusal, Row, Store, Stored, Unreadable, Version, Waiting } from './sync/store/store.ts'
export { createTabs, type TabMessage, type TabReport, type Tabs, type TabsPlatform } from './sync/store/tabs.ts'
export type { AdoptKeysOptions, Groups, Records, Sync, SyncOptions, SyncReader } from './sync/sync.ts'
export { type Readable, type Selection, toReadable } from './sync/view/selections.ts'
export type { Clock } from './timing/clock.ts'
export { forgetMasterKey, keepMasterKey, loadMasterKey } from './vault/master-key.ts'
export type {
  EarlierKeyring,
  RecoveryCodeDraft,
  Vault,
  VaultDraft,
  VaultRepair,
  VaultUser,
} from './vault/operations.ts'
export {
  changeVaultPassphrase,
  createVault,
  earlierKeyrings,
  eraseEarlierKeyrings,
  hasVault,
  openVault,
  repairVault,
  replaceRecoveryCode,
  restoreKeyring,
  rotateKeys,
} from './vault/vault.ts'
