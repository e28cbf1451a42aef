import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'
import { table } from '../engine/table.ts'
import type { CiphertextsTable } from '../schema.ts'

export type Ciphertext = CiphertextsTable

/** Rows are only added, because each has the sequence number of its change. */
export const ciphertexts = table<Ciphertext>('ciphertexts', {
  alike: ['user_id'],
  columns: { user_id: 'text', sequence: 'bigint', encrypted_data: 'text' },
})

/** In a query for a user's records: the ciphertext of each returned record that is not deleted. */
export function ciphertextOf(userId: RawBuilder<string>) {
  return sql<string | null>`case when deleted_at is null then (
    select encrypted_data from ciphertexts
    where ciphertexts.user_id = ${userId} and ciphertexts.sequence = records.data_sequence
  ) end`.as('encrypted_data')
}

/** The bytes of ciphertext in these rows, which is ASCII. */
export function bytesOf(rows: { encrypted_data: string | null }[]): number {
  return rows.reduce((sum, { encrypted_data }) => sum + (encrypted_data?.length ?? 0), 0)
}

export async function findCiphertext(trx: Trx, userId: string, sequence: number): Promise<string | undefined> {
  return (await ciphertext.first(trx, { userId, sequence }))?.encrypted_data
}

const ciphertext = query((db, { userId, sequence }: Placeholders<{ userId: string; sequence: number }>) =>
  db.selectFrom('ciphertexts').select('encrypted_data').where('user_id', '=', userId).where('sequence', '=', sequence),
)
