import type { Impact } from '../../../scripts/contract/review/impact.ts'
import type { Edit } from '../contract.ts'

/** A change that somebody makes to the fixture's contract, and what semver says to it. */
export interface Case {
  name: string
  /** In the contract before the change, too. */
  given?: Edit[]
  edits: Edit[]
  /** `none`, of a document that means the same. */
  verdict: Impact | 'none'
  /** In a finding with this verdict. */
  says?: RegExp
  /** How many findings there are, if nothing may be told twice. */
  findings?: number
  /** How many operations the finding names. */
  reaches?: number
}

/** A case in one line of a table. */
export type Row = [
  verdict: Case['verdict'],
  name: string,
  edits: Edit[],
  says?: RegExp | undefined,
  more?: Partial<Case>,
]

export function toCase([verdict, name, edits, says, more]: Row): Case {
  return { verdict, name, edits, ...(says && { says }), ...more }
}
