import { type RawBuilder, sql } from 'kysely'
import { pause } from '../../thread/loop.ts'
import type { Trx } from '../engine/database.ts'
import { inOrder, isOneOf, type Placeholders, query } from '../engine/query.ts'
import { rowsAtOnce, table } from '../engine/table.ts'
import type { CiphertextsTable } from '../schema.ts'

export type Ciphertext = CiphertextsTable

/** Added only, as each has the sequence number of the change that brought it. */
export const ciphertexts = table<Ciphertext>('ciphertexts', {
  alike: ['user_id'],
  columns: { user_id: 'text', stamp: 'bigint', encrypted_data: 'text' },
})

/** In a query for a user's records: the ciphertext of each that is returned and not deleted. */
export function ciphertextOf(userId: RawBuilder<string>) {
  return sql<string | null>`case when deleted_at is null then (
    select encrypted_data from ciphertexts
    where ciphertexts.user_id = ${userId} and ciphertexts.stamp = records.data_stamp
  ) end`.as('encrypted_data')
}

/** The ciphertext that the rows hold, in bytes: it is ASCII. */
export function bytesOf(rows: { encrypted_data: string | null }[]): number {
  return rows.reduce((sum, { encrypted_data }) => sum + (encrypted_data?.length ?? 0), 0)
}

export async function findCiphertext(trx: Trx, userId: string, stamp: number): Promise<string | undefined> {
  return (await ciphertext.first(trx, { userId, stamp }))?.encrypted_data
}

const ciphertext = query((db, { userId, stamp }: Placeholders<{ userId: string; stamp: number }>) =>
  db.selectFrom('ciphertexts').select('encrypted_data').where('user_id', '=', userId).where('stamp', '=', stamp),
)

/** Some at a time, because each may be large. */
export async function removeCiphertexts(trx: Trx, userId: string, stamps: number[]): Promise<void> {
  const remove = async (from: number) => {
    await pause()
    await removed.run(trx, { userId, stamps: stamps.slice(from, from + rowsAtOnce) })
  }
  const parts = Array.from({ length: Math.ceil(stamps.length / rowsAtOnce) }, (_, index) => index * rowsAtOnce)
  await inOrder(
    trx,
    parts.map((from) => () => remove(from)),
  )
}

const removed = query((db, { userId, stamps }: Placeholders<{ userId: string; stamps: number[] }>) =>
  db
    .deleteFrom('ciphertexts')
    .where('user_id', '=', userId)
    .where(isOneOf(db, 'stamp', stamps, 'bigint')),
)
