import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { Result } from './rounds.ts'

export interface About {
  /** ISO 8601. */
  date: string
  database: 'SQLite' | 'Postgres'
  node: string
  cores: number
  rounds: number
}

export function aboutRun(postgres: boolean, rounds: number): About {
  const machine = { node: process.version, cores: cpus().length }
  return { date: new Date().toISOString(), database: postgres ? 'Postgres' : 'SQLite', ...machine, rounds }
}

/** The median of each contender's rounds, their range, and what the median is of the limit's. */
export function describeResult({ work, unit, target, met, rounds, medians, ratios }: Result): string {
  const verdict = target === null ? '' : `   ${target}: ${met === null ? 'not known' : met ? 'met' : 'MISSED'}`
  const lines = Object.entries(rounds).map(([contender, own]) => {
    const range = `${figure(Math.min(...own))} to ${figure(Math.max(...own))}`
    const cells = [contender.padEnd(16), figure(medians[contender]).padStart(10), `   ${range}`.padEnd(28)]
    return `  ${cells.join('')}${ratioOf(ratios[contender])}`.trimEnd()
  })
  return [`${work}, ${unit}${verdict}`, ...lines].join('\n')
}

/** `bench.json`, with every round, and `bench.md`, the table for docs/operating/sizing.md. Returns their folder. */
export async function writeReport(folder: string, about: About, results: Result[]): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'bench.json'), `${JSON.stringify({ ...about, results }, null, 2)}\n`)
  await writeFile(join(folder, 'bench.md'), markdown(about, results))
}

function markdown({ date, database, node, cores, rounds }: About, results: Result[]): string {
  const contenders = new Set(results.flatMap(({ medians }) => Object.keys(medians)))
  const others = [...contenders].filter((name) => name !== 'service' && name !== 'limit')
  const header = ['work', 'limit', 'this service', ...others, 'target']
  const lines = results.map(({ work, unit, target, met, medians, ratios }) => [
    `${work}, ${unit}`,
    figure(medians.limit),
    ...['service', ...others].map((name) => {
      const ratio = ratioOf(ratios[name])
      return ratio === '' ? figure(medians[name]) : `${figure(medians[name])} (${ratio})`
    }),
    target === null ? '' : `${target}${met === false ? ' (missed)' : ''}`,
  ])
  const table = [header, header.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  return `${date.slice(0, 10)}, ${database}, Node ${node}, ${cores} cores, medians of ${rounds} rounds, in brackets what they are of the limit:\n\n${table}\n`
}

function ratioOf(ratio: number | undefined): string {
  return ratio === undefined ? '' : ratio.toFixed(2)
}

function figure(value: number | undefined): string {
  if (value === undefined) return '–'
  return value < 10 ? value.toPrecision(2) : Math.round(value).toLocaleString('en')
}
