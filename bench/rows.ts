import type { Line, Row } from './open.ts'
import { growth } from './rows/growth.ts'
import { memory, start } from './rows/process.ts'
import * as records from './rows/records.ts'
import { fanOutRow, idleSockets } from './rows/sockets.ts'

/** All rows by name, in the order in which they are measured. */
export const rows: Record<string, Row> = {
  push: records.push,
  update: records.update,
  beside: records.beside,
  pull: records.pull,
  'empty-pull': records.emptyPull,
  create: records.createOne,
  alone: records.alone,
  'fan-out': fanOutRow,
  import: records.imports,
  memory,
  start,
  'idle-sockets': idleSockets,
  export: records.exports,
  growth,
}

/** Describes each row in two lines of text: the work of its first figure, and the limit that it is compared with. */
export function describeRows(): string {
  return Object.entries(rows).map(describe).join('\n')
}

export function linesOf(name: string, { line, lines }: Row): Record<string, Line> {
  return lines ?? (line ? { [name]: line } : {})
}

function describe([name, row]: [string, Row]): string {
  const [first, ...others] = Object.values(linesOf(name, row)) as [Line, ...Line[]]
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  return `  ${name.padEnd(19)}${first.work}${more}\n${' '.repeat(21)}(${first.limit})`
}
