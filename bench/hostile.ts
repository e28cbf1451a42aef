import { startPostgres } from '../scripts/servers/postgres.ts'
import { UsageError } from '../src/service/terminal/command.ts'
import { attacks } from './hostile/attacks.ts'
import { playRow } from './hostile/row.ts'
import { printHeading, printRow } from './hostile/table.ts'

/** Plays each attack, or the named ones, against a service of its own. Returns the exit status: 1 if a row fails. */
export async function playAttacks(named: string[], onPostgres: boolean): Promise<number> {
  const unknown = named.filter((name) => !Object.hasOwn(attacks, name))
  if (unknown.length > 0)
    throw new UsageError(`there is no row ${unknown.join(', ')}; the rows are ${Object.keys(attacks).join(', ')}`)
  await using opened = new AsyncDisposableStack()
  const postgres = onPostgres ? opened.adopt(await startPostgres(), (it) => it.close()) : undefined
  const chosen = Object.entries(attacks).filter(([name]) => named.length === 0 || named.includes(name))

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
