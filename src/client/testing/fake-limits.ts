import { EncryptedData, ImportRequest, Keyring, PullRequest, PushRequest, quotas } from '../../../generated/limits.ts'
import type { components } from '../../../generated/openapi.ts'

/** Those of a service whose operator has set none. The fake one refuses nothing because of them. */
export const fakeLimits: components['schemas']['AccountLimits'] = {
  stored_bytes: quotas.storedBytes,
  stored_records: quotas.storedRecords,
  version_days: quotas.versionDays,
  versions_of_record: quotas.versionsOfRecord,
  export_bytes: quotas.exportBytes,
  exports_kept: quotas.exportsKept,
  exports_unfinished: quotas.exportsUnfinished,
  devices: quotas.devices,
  sessions: quotas.logins,
  sockets_per_instance: quotas.socketsPerInstance,
  requests_per_minute: quotas.requestsPerMinute,
  pull_changes: PullRequest.limit.maximum,
  push_changes: PushRequest.changes.maxItems,
  import_bookmarks: ImportRequest.bookmarks.maxItems,
  batch_body_bytes: quotas.batchBodyBytes,
  body_bytes: quotas.bodyBytes,
  encrypted_data_bytes: EncryptedData.maxLength,
  keyring_bytes: Keyring.keyring.maxLength,
}
