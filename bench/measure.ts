import { relative } from 'node:path'
import { type ProgressBar, withProgress } from '../src/service/terminal/progress.ts'
import { type Bench, type Options, openBench } from './open.ts'
import { aboutRun, describeResult, writeReport } from './report.ts'
import { playRow, type Result } from './rounds.ts'
import type { Row } from './row.ts'
import { rows } from './rows.ts'

export interface RowOptions extends Options {
  rounds: number
  /** Whether a missed target is a failure. */
  strict: boolean
  /** The folder for the report. */
  out: string
}

/** Measures all rows, or the named ones. Returns the exit status. */
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
    if (row.needsPostgres && !postgres) {
      progress.print(`${name}: left out, as it needs --postgres`)
      continue
    }
    progress.report(`measuring ${name}`, index, chosen.length)
    try {
      const own = await playRow(name, row, bench, rounds)
      for (const result of own) progress.print(describeResult(result))
      measured.push(...own)
    } catch (error) {
      // The other rows are still worth their time.
      console.error(`${name} could not be measured:`, error)
      failed.push(name)
    }
    await writeReport(out, aboutRun(postgres, rounds), measured)
  }
  return { measured, failed }
}
