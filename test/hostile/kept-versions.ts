/** Imported before the service: without --deep, a bookmark keeps fewer versions, so that accounts reach that quickly. */
import { quotas } from '../../generated/limits.ts'
import { depth } from '../support/depth.ts'

Object.assign(quotas, {
  versionsOfRecord: depth(4, quotas.versionsOfRecord),
  // Must be smaller than the limit above.
  newestVersionsOfRecord: depth(2, quotas.newestVersionsOfRecord),
})
