import type { Impact } from '../../../scripts/contract/review/impact.ts'
import type { Edit } from '../contract.ts'

/** A change that somebody makes to the fixture's contract, and what semver says to it. */
export interface Case {
  name: string
  edits: Edit[]
  verdict: Impact
  /** In the finding that decides. */
  says: RegExp
}
