import { sql } from 'kysely'
import type { Database, Trx } from './engine/database.ts'
import { isDistributed } from './engine/postgres/gather.ts'

/** The column by which Citus distributes each table: a user's rows are on one server. `spread` needs `users` first. */
export const distributed = {
  users: 'id',
  deletions: 'user_id',
  logins: 'user_id',
  tokens: 'user_id',
  records: 'user_id',
  ciphertexts: 'user_id',
  versions: 'user_id',
  devices: 'user_id',
  exports: 'user_id',
  keyrings: 'user_id',
  keyring_versions: 'user_id',
  pairings: 'user_id',
  used_nonces: 'nonce',
} as const

/** Tables that every server has completely. `heartbeat` is in neither list: it stays on the coordinator. */
export const reference = ['applied_migrations', 'epoch', 'identities', 'limits_in_force', 'providers'] as const

/**
 * If Citus is installed, distributes the tables that are not distributed yet, and returns their names. Citus leaves the
 * old copies of their rows on the coordinator, where queries do not see them. These copies are erased, including those
 * of an interrupted run.
 */
export async function distribute({
  db,
  isServer,
  maintain,
}: Pick<Database, 'db' | 'isServer' | 'maintain'>): Promise<string[]> {
  if (!isServer || !(await isDistributed(db))) return []
  return maintain(async (connection) => {
    const added = await connection.transaction().execute(spread)
    for (const table of [...reference, ...Object.keys(distributed)])
      await sql`select truncate_local_data_after_distributing_table(${table})`.execute(connection)
    return added
  })
}

async function spread(trx: Trx): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select logicalrelid::text as name from pg_dist_partition`.execute(trx)
  const known = new Set(rows.map(({ name }) => name))
  const isNew = (table: string) => !known.has(table)
  for (const table of reference.filter(isNew)) await sql`select create_reference_table(${table})`.execute(trx)
  for (const [table, column] of Object.entries(distributed).filter(([table]) => isNew(table))) {
    const colocated = table === 'users' ? 'default' : column === 'user_id' ? 'users' : 'none'
    await sql`select create_distributed_table(${table}, ${column}, colocate_with => ${colocated})`.execute(trx)
  }
  return [...reference, ...Object.keys(distributed)].filter(isNew)
}
