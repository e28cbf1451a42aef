import type pg from 'pg'
import { distributed } from '../../../src/service/db/distribute.ts'

/** The number of partitions, which stand for servers: a query for one user must reach only one. */
const shards = 4

export interface Definition {
  table: string
  name: string
  definition: string
  /** p: primary key, u: unique, f: foreign key, c: check, i: an index that belongs to none of these. */
  kind: 'p' | 'u' | 'f' | 'c' | 'i'
}

/**
 * Replaces each distributed table, which must be empty, by one that is partitioned by the same column. Postgres then
 * has the same rule as Citus: unique constraints and targets of foreign keys contain that column. The service detects
 * Citus by its list of distributed tables.
 */
export async function partition(client: pg.Client): Promise<void> {
  const definitions = (await readDefinitions(client)).filter(({ table }) => table in distributed)
  for (const [table, column] of Object.entries(distributed)) {
    await client.query(`alter table ${table} rename to ${table}_whole`)
    await client.query(`create table ${table} (like ${table}_whole including defaults) partition by hash (${column})`)
    for (let shard = 0; shard < shards; shard++)
      await client.query(`create table ${table}_${shard} partition of ${table}
        for values with (modulus ${shards}, remainder ${shard})`)
  }
  await client.query(`create table pg_dist_partition (logicalrelid regclass)`)
  for (const table of Object.keys(distributed)) await client.query(`drop table ${table}_whole cascade`)
  for (const wanted of 'pufci') {
    for (const { table, name, kind, definition } of definitions.filter(({ kind }) => kind === wanted))
      await client.query(kind === 'i' ? definition : `alter table ${table} add constraint ${name} ${definition}`)
  }
}

export async function readDefinitions(client: pg.Client): Promise<Definition[]> {
  const { rows } = await client.query<Definition>(`
    select conrelid::regclass::text as table, conname as name, contype as kind, pg_get_constraintdef(oid) as definition
    from pg_constraint where connamespace = 'public'::regnamespace and contype in ('p', 'u', 'f', 'c')
    union all
    select indrelid::regclass::text, indexrelid::regclass::text, 'i', pg_get_indexdef(indexrelid)
    from pg_index join pg_class on pg_class.oid = indexrelid
    where relnamespace = 'public'::regnamespace
      and not exists (select 1 from pg_constraint where conindid = indexrelid)
    order by 1, 2`)
  return rows
}
