import type { Trx } from '../database.ts'
import { type Batch, batchFor, rowsAtOnce, type Statements } from '../table.ts'

export async function writeInParts<Row>(trx: Trx, { one, some }: Statements<Row>, rows: Row[]): Promise<void> {
  let written = 0
  for (; written + rowsAtOnce <= rows.length; written += rowsAtOnce) {
    const part = rows.slice(written, written + rowsAtOnce)
    const batch = batchFor(some, part)
    batch.query.run(trx, valuesOf(part, batch))
  }
  for (; written < rows.length; written++) {
    // Not awaited, because SQLite runs it synchronously.
    one.run(trx, rows[written] as Row)
  }
}

function valuesOf<Row>(rows: Row[], { shared, own }: Batch<Row>): unknown[] {
  const values = new Array(shared.length + rows.length * own.length)
  let place = 0
  for (const column of shared) values[place++] = rows[0]?.[column]
  for (const row of rows) for (const column of own) values[place++] = row[column]
  return values
}
