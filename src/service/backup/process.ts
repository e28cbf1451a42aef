/**
 * A separate process for each scheduled backup: verifying a large copy takes a while, in which the service must answer.
 * Its argument is an `Order` as JSON. It prints the result as JSON, or the error on stderr.
 */
import { getPriority, setPriority } from 'node:os'
import type { Source } from './make.ts'
import { makeBackup } from './make.ts'

/** A `nice` value, so that requests come first. */
const lowPriority = 10

export interface Order {
  source: Source
  path: string
}

// The service never writes to this stdin, which ends if the service is killed: then nobody waits for this backup.
process.stdin.on('end', () => process.exit(1)).resume()

try {
  process.umask(0o077)
  // An operator may have lowered the priority already (`Nice=`, `nice`), and only root may raise it.
  setPriority(Math.max(getPriority(), lowPriority))
  const { source, path } = JSON.parse(process.argv[2] ?? '') as Order
  console.log(JSON.stringify(await makeBackup(source, path)))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
process.stdin.destroy()
