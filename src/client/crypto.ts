/**
 * `encrypted-bookmark-sync-client/crypto`: encryption and decryption on the user's devices, without network requests. Each
 * function documents its byte layout; test vectors for other implementations are in the service's `test/vectors/`.
 */
export type { EntityType, ExportSummary, OpenedExport, PlaintextBookmark } from './bookmark.ts'
export {
  type Credentials,
  changePassphrase,
  createKeyring,
  type NewKeyring,
  newRecoveryCode,
  openKeyring,
  rotateKeyring,
} from './crypto/keyring.ts'
export { deriveKeys, type Keys } from './crypto/keys.ts'
export { decryptBookmark, encryptBookmark, type SealedRecord, type StoredRecord } from './crypto/record.ts'
export {
  ExportError,
  type ExportFault,
  KeyringError,
  type KeyringFault,
  RecordError,
  type RecordFault,
  WrongKeyError,
} from './errors/local.ts'
export type { ExportFile } from './export-file/cut.ts'
export { type ExportKeys, openExport, streamExport } from './export-file/export-file.ts'
