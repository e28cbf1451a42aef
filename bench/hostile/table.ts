import { percentile } from '../worker/percentile.ts'
import type { Row } from './row.ts'
import type { Felt } from './victim.ts'

const mebibyte = 1024 * 1024
const maxRatio = 3
const graceMs = 100
const maxBytes = 256 * mebibyte

export function printHeading(): void {
  console.log('What a second user felt, alone and during the attack (p50 and p99 in ms, answers that were no success,')
  console.log('calls without an answer), and the memory that the service took above idle:\n')
  console.log(line(['row', 'alone', 'attacked', 'refused', 'lost', 'MiB', '']))
}

/** Returns what the row fails for. */
export function printRow(name: string, row: Row): string[] {
  const { alone, attacked, bytesAboveIdle } = row
  const failures = failuresOf(row)
  const figures = [`${attacked.refused}`, `${attacked.lost}`, `${Math.round(bytesAboveIdle / mebibyte)}`]
  const verdict = failures.length === 0 ? 'passes' : `FAILS: ${failures.join(', ')}`
  console.log(line([name, times(alone), times(attacked), ...figures, verdict]))
  return failures
}

function failuresOf({ alone, attacked, bytesAboveIdle, complaint }: Row): string[] {
  const checks: Record<string, boolean> = {
    p99: percentile(attacked.times, 99) > maxRatio * percentile(alone.times, 99) + graceMs,
    refused: attacked.refused > 0,
    lost: attacked.lost > 0,
    memory: bytesAboveIdle > maxBytes,
    'something was wrong before the attack': alone.refused + alone.lost > 0,
  }
  const failed = Object.keys(checks).filter((name) => checks[name])
  return complaint === undefined ? failed : [...failed, complaint]
}

function times({ times }: Felt): string {
  return [50, 99].map((percent) => Math.round(percentile(times, percent))).join(' / ')
}

function line([name = '', alone = '', attacked = '', refused = '', lost = '', memory = '', verdict = '']: string[]) {
  const figures = [alone.padStart(12), attacked.padStart(16), refused.padStart(9), lost.padStart(6), memory.padStart(6)]
  return `${name.padEnd(18)}${figures.join('')}   ${verdict}`.trimEnd()
}
