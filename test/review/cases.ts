import { readFileSync } from 'node:fs'
import type { Impact } from '../../scripts/contract/review/impact.ts'
import type { Edit } from './contract.ts'

/** A change of the fixture's contract, and the verdict that semver requires. */
export interface Case {
  name: string
  /** `none` if the changed document means the same. The review then has no finding. */
  verdict: Impact | 'none'
  /** Matches a finding with this verdict. */
  says: RegExp
  /** The number of findings, if a second report of the same change would be wrong. */
  findings?: number
  /** The number of operations that the finding names. */
  reaches?: number
  /** Edits of the contract made before the change, so that both versions have them. */
  given: Edit[]
  edits: Edit[]
}

/**
 * Parses the cases of a file. Each is written as a diff: the first text equal to `-` is replaced by `+`, `@@` begins
 * another place, and edits before `then` come before the change. `only` is `says` without any other finding.
 */
export function casesIn(file: string): Case[] {
  return readFileSync(new URL(`changes/${file}`, import.meta.url), 'utf8')
    .split(/\n{2,}/)
    .filter((part) => !part.startsWith('#'))
    .map(caseOf)
}

function caseOf(part: string): Case {
  const lines = part.trimEnd().split('\n')
  const start = lines.findIndex((line) => /^[ +-]/.test(line))
  const head = lines.slice(0, start).map((line) => line.split(/: (.*)/, 2) as [string, string])
  const [[verdict, name] = ['', ''], ...rest] = head
  const { only, says = only, findings, reaches } = Object.fromEntries(rest)
  const [edits = '', given] = lines.slice(start).join('\n').split('\nthen\n').toReversed()
  const count = verdict === 'none' ? 0 : only === undefined ? findings : 1
  return {
    name,
    verdict: verdict as Case['verdict'],
    says: new RegExp(says ?? ''),
    ...(count !== undefined && { findings: Number(count) }),
    ...(reaches !== undefined && { reaches: Number(reaches) }),
    given: editsIn(given),
    edits: editsIn(edits),
  }
}

function editsIn(diff: string | undefined): Edit[] {
  return (diff?.split('\n@@\n') ?? []).map((hunk): Edit => {
    const without = (sign: string) =>
      hunk
        .split('\n')
        .filter((line) => !line.startsWith(sign))
        .map((line) => line.slice(1))
        .join('\n')
    return [without('+'), without('-')]
  })
}
