import { parseArgs } from 'node:util'
import { startPostgres } from '../servers/postgres.ts'
import { attacks } from './hostile/attacks.ts'
import { playRow } from './hostile/row.ts'
import { printHeading, printRow } from './hostile/table.ts'

/** Plays each attack, or the named ones, against a service of its own. Returns the exit status: 1 if a row fails. */
export async function playAttacks(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    options: { postgres: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const unknown = positionals.filter((name) => !attacks[name])
  if (unknown.length > 0) {
    const rows = Object.keys(attacks).join(', ')
    console.error(
      `no row ${unknown.join(', ')}\nusage: npm run bench -- hostile [ROW…] [--postgres]\nThe rows are ${rows}.`,
    )
    return 1
  }
  await using opened = new AsyncDisposableStack()
  const postgres = values.postgres ? opened.adopt(await startPostgres(), (it) => it.close()) : undefined
  const chosen = Object.entries(attacks).filter(([name]) => positionals.length === 0 || positionals.includes(name))

  printHeading()
  let status = 0
  for (const [name, attack] of chosen) {
    if (attack.needsPostgres && !postgres) {
      console.log(`${name}: skipped, as it needs --postgres`)
      continue
    }
    const failures = printRow(name, await playRow(name, attack, postgres?.url))
    if (failures.length > 0) status = 1
  }
  return status
}
