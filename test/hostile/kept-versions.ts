/** Imported before the service: lowers the number of versions kept per bookmark, so that accounts reach it quickly. */
import { quotas } from '../../generated/limits.ts'
import { depth } from '../support/depth.ts'

Object.assign(quotas, {
  versionsOfRecord: depth(4, quotas.versionsOfRecord),
  // Must be smaller than the limit above.
  newestVersionsOfRecord: depth(2, quotas.newestVersionsOfRecord),
})
