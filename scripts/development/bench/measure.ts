import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openBench } from './open.ts'
import { aboutRun, printResult, writeReport } from './report.ts'
import { playRow, type Result } from './rounds.ts'
import type { Line, Row } from './row.ts'
import { rows } from './rows.ts'

const results = fileURLToPath(new URL('../../../dist/bench/', import.meta.url))
const usage = `usage: npm run bench -- [ROW…] [OPTION…]
  --postgres       on a Postgres that is started for it, instead of SQLite
  --rounds N       how often each is measured, 5 unless told
  --peers          measures PocketBase and the PouchDB server, too, where Go and npm can get them
  --before FOLDER  measures the service of another checkout, too
  --quick          small numbers, which show that a row works
  --strict         status 1 if a target is missed
  --out FOLDER     where bench.json and bench.md are written, dist/bench unless told
npm run bench -- page | first-sync | hostile: see docs/contributing.md

rows, and the limit that each is compared with:
${Object.entries(rows).map(describe).join('\n')}`

function describe([name, { lines }]: [string, Row]): string {
  const [first, ...others] = Object.values(lines) as [Line, ...Line[]]
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  return `  ${name.padEnd(19)}${first.work}${more}\n${' '.repeat(21)}(${first.limit})`
}

/** Measures all rows, or the named ones. Returns the exit status. */
export async function measureRows(args: string[]): Promise<number> {
  const { values, positionals: named } = read(args)
  if (values.help) {
    console.log(usage)
    return 0
  }
  const unknown = named.find((name) => !rows[name])
  if (unknown) throw new UsageError(`there is no row ${unknown}; the rows are ${Object.keys(rows).join(', ')}`)
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1) throw new UsageError(`--rounds: ${values.rounds} is no number of rounds`)
  const { postgres, peers, quick, before, strict, out } = values

  await using opened = new AsyncDisposableStack()
  const bench = await openBench({ postgres, peers, quick, before }, opened)
  const measured: Result[] = []
  const failed: string[] = []
  for (const [name, row] of Object.entries(rows)) {
    if (named.length > 0 && !named.includes(name)) continue
    if (row.needsPostgres && !postgres) {
      if (named.length > 0) console.log(`${name}: left out, as it needs --postgres`)
      continue
    }
    try {
      const own = await playRow(name, row, bench, rounds)
      own.forEach(printResult)
      measured.push(...own)
    } catch (error) {
      // The other rows are still worth their time.
      console.error(`${name} could not be measured:`, error)
      failed.push(name)
    }
    await writeReport(out, aboutRun(postgres, rounds), measured)
  }
  const missed = strict && measured.some(({ met }) => met === false)
  return missed || failed.length > 0 ? 1 : 0
}

/** What was asked for cannot be done. */
export class UsageError extends Error {}

function read(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        postgres: { type: 'boolean', default: false },
        peers: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        strict: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
        rounds: { type: 'string', default: '5' },
        out: { type: 'string', default: results },
        before: { type: 'string' },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
