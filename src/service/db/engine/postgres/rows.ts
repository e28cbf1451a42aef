import type { Trx } from '../database.ts'
import { batchFor, type Statements } from '../table.ts'

export async function writeAtOnce<Row>(trx: Trx, { all }: Statements<Row>, rows: Row[]): Promise<void> {
  const { shared, own, query } = batchFor(all, rows)
  const lists = own.map((column) => rows.map((row) => row[column]))
  await query.run(trx, [...shared.map((column) => rows[0]?.[column]), ...lists])
}
