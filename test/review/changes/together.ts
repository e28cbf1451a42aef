import type { Impact } from '../../../scripts/contract/review/impact.ts'
import { edited, original } from '../contract.ts'
import type { Case } from './case.ts'

export interface Revision {
  verdict: Impact
  cases: Case[]
  /** The contract with the changes of all these cases. */
  text: string
}

/** Combines cases that have the same verdict and change different lines, so that there are few revisions to compare. */
export function together(file: string, cases: Case[]): Revision[] {
  const revisions: { verdict: Impact; cases: Case[]; changes: Change[] }[] = []
  for (const one of cases) {
    const { verdict, edits } = one
    const changes = edits.map((edit) => changeOf(original(file), edited(file, [edit])))
    const isFree = (other: Change) => changes.every((change) => isApart(change, other))
    const fitting = revisions.find((revision) => revision.verdict === verdict && revision.changes.every(isFree))
    fitting?.cases.push(one)
    fitting?.changes.push(...changes)
    if (!fitting) revisions.push({ verdict, cases: [one], changes })
  }
  return revisions.map(({ verdict, cases, changes }) => ({ verdict, cases, text: withAll(original(file), changes) }))
}

/** Replaces the lines from `start` up to, but not including, `end`. */
interface Change {
  start: number
  end: number
  lines: string[]
}

function changeOf(before: string, after: string): Change {
  const [old, lines] = [before.split('\n'), after.split('\n')]
  const start = old.findIndex((line, index) => line !== lines[index])
  const shorter = Math.min(old.length, lines.length) - start
  const tail = old.toReversed().findIndex((line, index) => index === shorter || line !== lines.at(-1 - index))
  return { start, end: old.length - tail, lines: lines.slice(start, lines.length - tail) }
}

function isApart(one: Change, other: Change): boolean {
  return one.start !== other.start && (one.end <= other.start || other.end <= one.start)
}

function withAll(text: string, changes: Change[]): string {
  const lines = text.split('\n')
  for (const { start, end, lines: own } of changes.toSorted((one, other) => other.start - one.start))
    lines.splice(start, end - start, ...own)
  return lines.join('\n')
}
