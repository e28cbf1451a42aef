export type Impact = 'patch' | 'minor' | 'major'

export interface Verdict {
  impact: Impact
  message: string
  /** The old and the new text, if words changed. */
  words?: [before: string, after: string]
}

/** A change of a contract, with its verdict. */
export interface Finding extends Verdict {
  /** The place in the revision. Something that was removed has no line. */
  file: string
  line?: number
  /** The operation, message or type, and the path within it, to print. */
  place: string
  /** The JSON pointer in the revision. */
  at?: string
  /** The affected operations. */
  operations: string[]
}

export const impacts: Impact[] = ['patch', 'minor', 'major']

export function highest(all: Impact[]): Impact | undefined {
  return impacts.findLast((impact) => all.includes(impact))
}

/** `covered`: another finding reports the change. Undefined: `ofUnknown` decides. */
export type Ruling = Verdict | Impact | 'covered' | undefined
