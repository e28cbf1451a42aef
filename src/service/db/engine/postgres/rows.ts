import { pause } from '../../../thread/loop.ts'
import type { Trx } from '../database.ts'
import { batchFor, type ColumnType, type Statements } from '../table.ts'

/** One way there and back for most pushes. Encoding so many takes some milliseconds. */
const mostAtOnce = 1000

/** Writes the rows of most pushes at once; of larger ones some at a time, and the event loop turns in between. */
export async function writeAtOnce<Row>(trx: Trx, statements: Statements<Row>, rows: Row[]): Promise<void> {
  if (rows.length <= mostAtOnce) return write(trx, statements, rows)
  for (let from = 0; from < rows.length; from += mostAtOnce) {
    await pause()
    await write(trx, statements, rows.slice(from, from + mostAtOnce))
  }
}

async function write<Row>(trx: Trx, { columns, all }: Statements<Row>, rows: Row[]): Promise<void> {
  const { shared, own, query } = batchFor(all, rows)
  const arrays = own.map((column) => toBinaryArray(rows, column, columns[column]))
  await query.run(trx, [...shared.map((column) => rows[0]?.[column]), ...arrays])
}

/** The types' names in Postgres' binary formats. */
const oids: Record<ColumnType, number> = { text: 25, bigint: 20, integer: 23 }
const headerBytes = 20
const lengthBytes = 4
const integerBytes = 4
const bigintBytes = 8
/** The length of a null. */
const none = -1

/**
 * A list as a parameter, in the binary format: as text, the driver would look at each value for what must be escaped, and
 * Postgres at each character. The driver sends a buffer as binary.
 */
function toBinaryArray<Row, Column extends keyof Row>(rows: Row[], column: Column, type: ColumnType): Buffer {
  const array = Buffer.allocUnsafe(
    rows.reduce((sum, row) => sum + lengthBytes + sizeOf(row[column], type), headerBytes),
  )
  let hasNulls = 0
  let end = headerBytes
  for (const { [column]: value } of rows) {
    if (value === null) hasNulls = 1
    end = writeElement(array, end, value, type)
  }
  const [dimensions, firstIndex] = [1, 1]
  for (const [index, part] of [dimensions, hasNulls, oids[type], rows.length, firstIndex].entries())
    array.writeInt32BE(part, index * integerBytes)
  return array
}

function sizeOf(value: unknown, type: ColumnType): number {
  if (value === null) return 0
  if (type === 'text') return Buffer.byteLength(value as string)
  return type === 'bigint' ? bigintBytes : integerBytes
}

function writeElement(array: Buffer, start: number, value: unknown, type: ColumnType): number {
  const at = start + lengthBytes
  if (value === null) return array.writeInt32BE(none, start)
  if (type === 'text') {
    const size = array.write(value as string, at)
    array.writeInt32BE(size, start)
    return at + size
  }
  if (type === 'integer') {
    array.writeInt32BE(integerBytes, start)
    return array.writeInt32BE(value as number, at)
  }
  const high = Math.floor((value as number) / 2 ** 32)
  array.writeInt32BE(bigintBytes, start)
  array.writeInt32BE(high, at)
  return array.writeUInt32BE((value as number) - high * 2 ** 32, at + integerBytes)
}
