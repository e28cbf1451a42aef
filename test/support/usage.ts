import { sql } from 'kysely'
import { quotas } from '../../generated/limits.ts'
import type { Context } from '../../src/service/context.ts'
import { findCounters } from '../../src/service/db/tables/users.ts'

/** The setting that allows a user this many bytes of ciphertext in this many records and versions. */
export function maxUserBytes(bytes: number, rows: number): { MAX_USER_BYTES: string } {
  return { MAX_USER_BYTES: `${bytes + rows * quotas.rowBytes}` }
}

/** How much a user stores, according to the counters. */
export async function usage({ database }: Context, userId: string): Promise<{ bytes: number; records: number }> {
  const { stored_bytes, stored_records } = await findCounters(database.db, userId)
  return { bytes: stored_bytes, records: stored_records }
}

/** How much a user stores, counted in the tables. */
export async function countUsage({ database: { db } }: Context, userId: string) {
  const count = (table: 'records' | 'ciphertexts') =>
    db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .select(sql<number>`coalesce(sum(length(encrypted_data)), 0)`.as('bytes'))
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow()
  const [records, ciphertexts] = [await count('records'), await count('ciphertexts')]
  return { bytes: Number(records.bytes) + Number(ciphertexts.bytes), records: Number(records.rows) }
}
