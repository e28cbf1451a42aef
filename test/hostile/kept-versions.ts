/** Comes before the service: so many versions are kept of a bookmark here that each account is at that limit and soon filled. */
import { quotas } from '../../generated/limits.ts'
import { depth } from '../support/depth.ts'

Object.assign(quotas, {
  versionsOfRecord: depth(4, quotas.versionsOfRecord),
  // Fewer than those, as everywhere.
  newestVersionsOfRecord: depth(2, quotas.newestVersionsOfRecord),
})
