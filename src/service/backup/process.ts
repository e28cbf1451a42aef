/**
 * A process of its own makes each scheduled backup: checking a large copy takes a while, in which the service must answer.
 * Its argument is what to copy and where to; it prints what it made, or on stderr why it did not.
 */
import { getPriority, setPriority } from 'node:os'
import type { Source } from './make.ts'
import { makeBackup } from './make.ts'

/** Requests come first. */
const lowPriority = 10

export interface Order {
  source: Source
  path: string
}

// The service holds the other end, and never writes: if it is killed, nobody waits for the backup any more.
process.stdin.on('end', () => process.exit(1)).resume()

try {
  process.umask(0o077)
  // Only root may take back what an operator has given the service (`Nice=`, `nice`).
  setPriority(Math.max(getPriority(), lowPriority))
  const { source, path } = JSON.parse(process.argv[2] ?? '') as Order
  console.log(JSON.stringify(await makeBackup(source, path)))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
process.stdin.destroy()
