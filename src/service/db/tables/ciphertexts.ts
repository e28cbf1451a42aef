import { type RawBuilder, sql } from 'kysely'
import type { Trx } from '../engine/database.ts'
import { type Placeholders, query } from '../engine/query.ts'
import { table } from '../engine/table.ts'
import type { CiphertextsTable } from '../schema.ts'

export type Ciphertext = CiphertextsTable

/**
 * Up to this length (characters), a ciphertext is stored in its record: a create writes two pages less, and a pull need
 * not search for it. When a version keeps it, it moves to `ciphertexts`. Longer ones are there from the start, because
 * a push can replace 500 of 256 KiB. Postgres would also split rows of more than 2 kB.
 */
const maxInRecord = 1500

/** True if the ciphertext is too long for its record. */
export function isLong({ bytes }: { bytes: number }): boolean {
  return bytes > maxInRecord
}

/** Needs no key, because inserts never conflict: each row has the sequence number of its change. */
export const ciphertexts = table<Ciphertext>('ciphertexts', {
  alike: ['user_id'],
  columns: { user_id: 'text', sequence: 'bigint', encrypted_data: 'text' },
})

/** In a query for a user's records: the ciphertext of each returned record that is not deleted. */
export function ciphertextOf(userId: RawBuilder<string>) {
  return sql<string | null>`case when deleted_at is null then coalesce(records.encrypted_data, (
    select ciphertexts.encrypted_data from ciphertexts
    where ciphertexts.user_id = ${userId} and ciphertexts.sequence = records.data_sequence
  )) end`.as('encrypted_data')
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
