/** The command `npm run bench`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Option } from 'commander'
import { command, existingFile, positiveInteger, run, UsageError } from '../src/service/terminal/command.ts'
import type { RowOptions } from './measure.ts'
import { describeRows, rows } from './rows.ts'

const results = fileURLToPath(new URL('../dist/bench/', import.meta.url))

const bench = command(
  'bench',
  'Measures how fast the service is on this machine, next to the limit of its parts.',
  'docs/operating/sizing.md has the figures of one machine.',
)
  // Otherwise an option after `hostile`, such as `--postgres`, would go to `bench` itself.
  .enablePositionalOptions()
  .argument('[row...]', 'measures these rows only; they are listed below')
  .option('--postgres', 'uses a Postgres that it starts itself, instead of SQLite')
  .option('--rounds <number>', 'measures each row this many times', positiveInteger, 5)
  .option('--peers', 'measures PocketBase and the PouchDB server, too, where Go and npm can get them')
  .option('--before <folder>', 'measures the service of another checkout, too', mainOf)
  .option('--quick', 'uses small numbers, which only show that a row works')
  .option('--strict', 'exits with 1 if a target is missed')
  .addOption(new Option('--out <folder>', 'where bench.json and bench.md are written').default(results, 'dist/bench'))
  .addHelpText('after', `\nRows, and the limit that each is compared with:\n${describeRows()}`)
  .action(async (named: string[], given: Pick<RowOptions, 'rounds' | 'out'> & Partial<RowOptions>) => {
    const options = { postgres: false, peers: false, quick: false, strict: false, before: undefined, ...given }
    const unknown = named.find((name) => !Object.hasOwn(rows, name))
    if (unknown) throw new UsageError(`there is no row ${unknown}; the rows are ${Object.keys(rows).join(', ')}`)
    process.exitCode = await (await import('./measure.ts')).measureRows(named, options)
  })
bench
  .command('page')
  .description('how long a person with 20,000 and 50,000 bookmarks waits in Chromium')
  .action(async () => (await import('./page.ts')).measurePage())
bench
  .command('pulses')
  .description('the cost of notifications between 60 instances, over LISTEN and NOTIFY and over NATS')
  .action(async () => (await import('./pulses.ts')).measureNotifications())
bench
  .command('hostile')
  .description('the effect on a second user while somebody attacks the service')
  .argument('[row...]', 'plays these rows only')
  .option('--postgres', 'uses a Postgres that it starts itself, instead of SQLite')
  .action(async (named: string[], { postgres = false }: { postgres?: boolean }) => {
    process.exitCode = await (await import('./hostile.ts')).playAttacks(named, postgres)
  })
await run(bench)

/** The main module of the service in a checkout. Up to version 2.1, all of src/ was the service. */
function mainOf(folder: string): string {
  const early = join(folder, 'src/main.ts')
  return existsSync(early) ? early : existingFile(join(folder, 'src/service/main.ts'))
}
