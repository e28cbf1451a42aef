import { Keyring } from '../../generated/keyring-limits.ts'
import { EncryptedData, ImportRequest, PullRequest, PushRequest, quotas } from '../../generated/limits.ts'

/** The limits of an account that no operator can set. */
export const fixedLimits = {
  exports_kept: quotas.exportsKept,
  exports_unfinished: quotas.exportsUnfinished,
  devices: quotas.devices,
  sessions: quotas.logins,
  sockets_per_instance: quotas.socketsPerInstance,
  pull_changes: PullRequest.limit.maximum,
  push_changes: PushRequest.changes.maxItems,
  import_bookmarks: ImportRequest.bookmarks.maxItems,
  batch_body_bytes: quotas.batchBodyBytes,
  body_bytes: quotas.bodyBytes,
  encrypted_data_bytes: EncryptedData.maxLength,
  keyring_bytes: Keyring.keyring.maxLength,
}
