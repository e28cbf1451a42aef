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

/** One line for each figure: the median of the rounds and their range. */
export function printResult(result: Result): void {
  const { work, unit, medians, target, met } = result
  const { service, limit, ...others } = medians
  const compared = limit === undefined ? '' : `limit ${spanOf(result, 'limit')}`
  const verdict = target === null ? '' : `${target}: ${met === null ? 'not known' : met ? 'met' : 'MISSED'}`
  console.log(`${work} (${unit})`)
  console.log(`  ${spanOf(result, 'service').padEnd(34)}${compared.padEnd(40)}${ratioOf(result).padEnd(8)}${verdict}`)
  for (const name of Object.keys(others)) console.log(`  ${spanOf(result, name).padEnd(34)}${name}`)
}

/** `bench.json`, with every round, and `bench.md`, the table for a README. Returns their folder. */
export async function writeReport(folder: string, about: About, results: Result[]): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'bench.json'), `${JSON.stringify({ ...about, results }, null, 2)}\n`)
  await writeFile(join(folder, 'bench.md'), markdown(about, results))
}

function markdown({ date, database, node, cores, rounds }: About, results: Result[]): string {
  const others = [...new Set(results.flatMap(({ medians }) => Object.keys(medians)))].filter(
    (name) => name !== 'service' && name !== 'limit',
  )
  const header = ['work', 'limit', ...others, 'this service', 'ratio', 'target', '']
  const lines = results.map((result) => [
    `${result.work}, ${result.unit}`,
    ...['limit', ...others, 'service'].map((name) => figure(result.medians[name])),
    ratioOf(result),
    result.target ?? '–',
    result.met === null ? '' : result.met ? 'met' : 'missed',
  ])
  const table = [header, header.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  return `${date.slice(0, 10)}, ${database}, Node ${node}, ${cores} cores, medians of ${rounds} rounds\n\n${table}\n`
}

function spanOf({ medians, rounds }: Result, contender: string): string {
  const own = rounds[contender] ?? []
  return `${figure(medians[contender])} (${figure(Math.min(...own))} to ${figure(Math.max(...own))})`
}

function ratioOf({ ratio }: Result): string {
  return ratio === null ? '' : ratio.toFixed(2)
}

function figure(value: number | undefined): string {
  if (value === undefined) return '–'
  return value < 100 ? value.toPrecision(2) : Math.round(value).toLocaleString('en')
}
