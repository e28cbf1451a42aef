import { quotas } from '../../../generated/limits.ts'
import type { components } from '../../../generated/openapi.ts'
import { fixedLimits } from '../../protocol/fixed-limits.ts'

/** Those of a service whose operator has set none. The fake one refuses nothing because of them. */
export const fakeLimits: components['schemas']['AccountLimits'] = {
  stored_bytes: quotas.storedBytes,
  stored_records: quotas.storedRecords,
  version_days: quotas.versionDays,
  versions_of_record: quotas.versionsOfRecord,
  export_bytes: quotas.exportBytes,
  requests_per_minute: quotas.requestsPerMinute,
  ...fixedLimits,
}
