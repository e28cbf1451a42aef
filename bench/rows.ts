import type { Line, Row } from './row.ts'
import { cluster } from './rows/cluster.ts'
import { create } from './rows/create.ts'
import { exports } from './rows/export.ts'
import { growth } from './rows/growth.ts'
import { memory, start } from './rows/process.ts'
import { emptyPull, emptyPullDevice, pull } from './rows/pull.ts'
import { beside, history, imports, push, update } from './rows/push.ts'
import { fanOut, idleSockets } from './rows/sockets.ts'

/** All rows by name, in the order in which they are measured. */
export const rows: Record<string, Row> = {
  push,
  update,
  history,
  beside,
  pull,
  'empty-pull': emptyPull,
  'empty-pull-device': emptyPullDevice,
  create,
  'fan-out': fanOut,
  import: imports,
  memory,
  start,
  'idle-sockets': idleSockets,
  export: exports,
  growth,
  cluster,
}

/** A line for the first figure of each, and one for its limit. */
export function describeRows(): string {
  return Object.entries(rows).map(describe).join('\n')
}

function describe([name, { lines }]: [string, Row]): string {
  const [first, ...others] = Object.values(lines) as [Line, ...Line[]]
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  return `  ${name.padEnd(19)}${first.work}${more}\n${' '.repeat(21)}(${first.limit})`
}
