import { delimiter, join } from 'node:path'
import { isProgram } from '../../scripts/servers/program.ts'

/** The path of the program; undefined, with a message, if it is not installed. With SKIP_NOTHING, that is an error. */
export async function findProgram(name: string): Promise<string | undefined> {
  // Servers are in folders that only the superuser's PATH has.
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']) {
    const path = join(folder, name)
    if (await isProgram(path)) return path
  }
  const missing = `${name} is not installed`
  if (process.env.SKIP_NOTHING) throw new Error(missing)
  console.error(`\nNOT TESTED: ${missing}\n`)
  return undefined
}
