import { readFileSync } from 'node:fs'
import type { Impact } from '../../scripts/contract/review/impact.ts'
import type { Edit } from './contract.ts'

/** A change that somebody makes to the fixture's contract, and what semver says to it. */
export interface Case {
  name: string
  /** `none`, of a document that means the same: there is no finding at all. */
  verdict: Impact | 'none'
  /** In a finding with this verdict. */
  says: RegExp
  /** How many findings there are, if nothing may be told twice. */
  findings?: number
  /** How many operations the finding names. */
  reaches?: number
  /** Edits of the contract both before and after the change. */
  given: Edit[]
  edits: Edit[]
}

/**
 * The cases of a file, which is read as a diff is: `-` is replaced by `+` where it stands first, `@@` begins another place, and
 * what stands before `then` was done before. `only` is `says` where nothing else may be said.
 */
export function casesIn(file: string): Case[] {
  const text = readFileSync(new URL(`changes/${file}`, import.meta.url), 'utf8')
  return text
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
