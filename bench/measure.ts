import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join, relative } from 'node:path'
import { type ProgressBar, withProgress } from '../src/service/terminal/progress.ts'
import type { Figures, Line, Row, Target } from './open.ts'
import { type Bench, type Options, openBench } from './open.ts'
import { linesOf, rows } from './rows.ts'
import { percentile } from './worker/http.ts'

export interface RowOptions extends Options {
  rounds: number
  /** If true, a missed target fails the run. */
  strict: boolean
  /** The folder for the report. */
  out: string
}

/** Measures all rows, or the named ones. Returns the exit status: 1 if one fails or, if `strict`, misses a target. */
export async function measureRows(named: string[], options: RowOptions): Promise<number> {
  const chosen = Object.entries(rows).filter(([name]) => named.length === 0 || named.includes(name))
  await using opened = new AsyncDisposableStack()
  const bench = await openBench(options, opened)
  const { measured, failed } = await withProgress((progress) => measureEach(chosen, bench, options, progress))
  console.log(`\nWritten: bench.json and bench.md in ${relative('', options.out) || '.'}`)
  const missed = options.strict && measured.some(({ met }) => met === false)
  return missed || failed.length > 0 ? 1 : 0
}

async function measureEach(
  chosen: [name: string, row: Row][],
  bench: Bench,
  { postgres, rounds, out }: RowOptions,
  progress: ProgressBar,
) {
  const measured: Result[] = []
  const failed: string[] = []
  for (const [index, [name, row]] of chosen.entries()) {
    progress.report(`measuring ${name}`, index, chosen.length)
    try {
      const own = await playRow(name, row, bench, rounds)
      for (const result of own) progress.print(describeResult(result))
      measured.push(...own)
    } catch (error) {
      // Goes on, because the other rows can still be measured.
      console.error(`${name} could not be measured:`, error)
      failed.push(name)
    }
    const about = { date: new Date().toISOString(), database: postgres ? 'Postgres' : 'SQLite', rounds }
    await writeReport(out, { ...about, node: process.version, cores: cpus().length }, measured)
  }
  return { measured, failed }
}

interface About {
  /** When the last row was measured (ISO 8601). */
  date: string
  database: string
  node: string
  cores: number
  rounds: number
}

interface Result extends Omit<Line, 'target'> {
  row: string
  line: string
  /** The figures of all rounds, by contender: `service`, `limit` (the same work without it) and others. */
  rounds: Record<string, number[]>
  medians: Record<string, number>
  /** For each contender, the median of its figures, each divided by the figure of `limit` in the same round. */
  ratios: Record<string, number>
  target: string | null
  met: boolean | null
}

/** Runs all contenders of a row in turn, `rounds` times. A warm-up round comes first, except with `--quick`. */
async function playRow(name: string, row: Row, bench: Bench, rounds: number): Promise<Result[]> {
  await using opened = new AsyncDisposableStack()
  const { service, limit, ...others } = await row.open(bench, opened)
  const contenders = { service, ...(limit && { limit }), ...others }
  const played: Record<string, Figures[]> = {}
  for (let round = bench.isQuick ? 1 : 0; round <= rounds; round++) {
    for (const [contender, measure] of Object.entries(contenders)) {
      const measured = await measure()
      const figures = typeof measured === 'number' ? { [name]: measured } : measured
      if (round > 0) played[contender] = [...(played[contender] ?? []), figures]
    }
  }
  return Object.entries(linesOf(name, row)).map(([line, about]) => resultOf(name, line, about, played))
}

function resultOf(row: string, line: string, about: Line, played: Record<string, Figures[]>): Result {
  const { target, ...rest } = about
  const rounds: Record<string, number[]> = {}
  for (const [contender, figures] of Object.entries(played)) {
    const own = figures.flatMap((figure) => figure[line] ?? [])
    if (own.length > 0) rounds[contender] = own
  }
  const medians = Object.fromEntries(Object.entries(rounds).map(([contender, own]) => [contender, median(own)]))
  const ratios: Record<string, number> = {}
  const { limit, ...compared } = rounds
  for (const [contender, own] of limit ? Object.entries(compared) : [])
    ratios[contender] = median(own.map((figure, round) => figure / (limit?.[round] as number)))
  const met = isMet(target, ratios.service, medians.service)
  return { row, line, ...rest, rounds, medians, ratios, target: textOf(target), met }
}

function median(figures: number[]): number {
  return percentile(figures, 50)
}

function isMet(target: Target | undefined, ratio: number | undefined, figure: number | undefined): boolean | null {
  if (!target || figure === undefined) return null
  if ('figureAtMost' in target) return figure <= target.figureAtMost
  if (ratio === undefined) return null
  return 'atLeast' in target ? ratio >= target.atLeast : ratio <= target.atMost
}

function textOf(target: Target | undefined): string | null {
  if (!target) return null
  if ('figureAtMost' in target) return `at most ${target.figureAtMost}`
  return 'atLeast' in target ? `≥ ${target.atLeast.toFixed(2)} of the limit` : `≤ ${target.atMost} × the limit`
}

/** For each contender, the median and the range of its rounds, and its ratio to the limit. */
function describeResult({ work, unit, target, met, rounds, medians, ratios }: Result): string {
  const verdict = target === null ? '' : `   ${target}: ${met === null ? 'not known' : met ? 'met' : 'MISSED'}`
  const lines = Object.entries(rounds).map(([contender, own]) => {
    const range = `${figure(Math.min(...own))} to ${figure(Math.max(...own))}`
    const cells = [contender.padEnd(16), figure(medians[contender]).padStart(10), `   ${range}`.padEnd(28)]
    return `  ${cells.join('')}${ratioOf(ratios[contender])}`.trimEnd()
  })
  return [`${work}, ${unit}${verdict}`, ...lines].join('\n')
}

/** Writes `bench.json` with every round, and `bench.md`, the table for docs/operating/sizing.md. */
async function writeReport(folder: string, about: About, results: Result[]): Promise<void> {
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
  return `${date.slice(0, 10)}, ${database}, Node ${node}, ${cores} cores, medians of ${rounds} rounds, in brackets their ratios to the limit:\n\n${table}\n`
}

function ratioOf(ratio: number | undefined): string {
  return ratio === undefined ? '' : ratio.toFixed(2)
}

function figure(value: number | undefined): string {
  if (value === undefined) return '–'
  return value < 10 ? value.toPrecision(2) : Math.round(value).toLocaleString('en')
}
