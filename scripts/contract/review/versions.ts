import type { Documents } from './base.ts'
import type { Impact } from './impact.ts'

export interface Version {
  file: string
  before: string
  after: string
  /** The lowest version that the verdict requires. */
  wanted: string | undefined
  isEnough: boolean
}

export function versionOf({ file, before, after }: Documents, verdict: Impact | undefined): Version {
  const wanted = verdict && nextVersion(before.info.version, verdict)
  const isEnough = !verdict || (wanted !== undefined && isAtLeast(after.info.version, wanted))
  return { file, before: before.info.version, after: after.info.version, wanted, isEnough }
}

/** The next version that such a change requires; undefined if the version is not semver. Below 1.0, any version may break. */
function nextVersion(version: unknown, impact: Impact): string | undefined {
  const parts = numbers(version)
  if (!parts) return undefined
  const [major, minor, patch] = parts
  if (impact === 'patch') return `${major}.${minor}.${patch + 1}`
  return impact === 'major' && major > 0 ? `${major + 1}.0.0` : `${major}.${minor + 1}.0`
}

function isAtLeast(version: unknown, wanted: string): boolean {
  const [has, wants] = [numbers(version), numbers(wanted)]
  if (!has || !wants) return false
  const index = has.findIndex((part, at) => part !== wants[at])
  return index === -1 || Number(has[index]) > Number(wants[index])
}

function numbers(version: unknown): [number, number, number] | undefined {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/.exec(String(version)) ?? []
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)]
}
