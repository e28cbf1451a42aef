export type Impact = 'patch' | 'minor' | 'major'

/** One change of a contract. */
export interface Finding {
  impact: Impact
  /** The place in the revision. Something that was removed has no line. */
  file: string
  line?: number
  /** The operation, message or type, and the path to the place in it. */
  place: string
  message: string
}

export const impacts: Impact[] = ['patch', 'minor', 'major']

export function highest(all: Impact[]): Impact | undefined {
  return impacts.findLast((impact) => all.includes(impact))
}

/** The next version for such a change; undefined without a semantic version before. Below 1.0 a minor version may break. */
export function nextVersion(version: unknown, impact: Impact): string | undefined {
  const parts = numbers(version)
  if (!parts) return undefined
  const [major, minor, patch] = parts
  if (impact === 'patch') return `${major}.${minor}.${patch + 1}`
  return impact === 'major' && major > 0 ? `${major + 1}.0.0` : `${major}.${minor + 1}.0`
}

export function isAtLeast(version: unknown, wanted: string): boolean {
  const [has, wants] = [numbers(version), numbers(wanted)]
  if (!has || !wants) return false
  const index = has.findIndex((part, at) => part !== wants[at])
  return index === -1 || Number(has[index]) > Number(wants[index])
}

function numbers(version: unknown): [number, number, number] | undefined {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/.exec(String(version)) ?? []
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)]
}
