import type pg from 'pg'

/** As on many servers: a query that names its user reaches one of them. */
const shards = 8

/** The tables of a kind, by `deploy/citus/distribute.sql`. */
export interface Distribution {
  /** Each with the column by which it is distributed. */
  distributed: Map<string, string>
  reference: Set<string>
}

export function readDistribution(script: string): Distribution {
  const distributed = script.matchAll(/create_distributed_table\('(\w+)', '(\w+)'/g)
  const reference = script.matchAll(/create_reference_table\('(\w+)'/g)
  return {
    distributed: new Map([...distributed].map(([, table = '', column = '']) => [table, column])),
    reference: new Set([...reference].map(([, table = '']) => table)),
  }
}

export interface Definition {
  table: string
  name: string
  definition: string
  /** p: primary key, u: unique, f: foreign key, c: check, i: an index that belongs to none of these. */
  kind: 'p' | 'u' | 'f' | 'c' | 'i'
}

/**
 * Replaces each distributed table, which must be empty, by one that is partitioned by the same column. Postgres makes the
 * same demands of it as Citus: what is unique holds the column, and so does what a foreign key refers to. The service
 * knows Citus by its list of distributed tables.
 */
export async function partition(client: pg.Client, { distributed }: Distribution): Promise<void> {
  const definitions = (await readDefinitions(client)).filter(({ table }) => distributed.has(table))
  for (const [table, column] of distributed) {
    await client.query(`alter table ${table} rename to ${table}_whole`)
    await client.query(`create table ${table} (like ${table}_whole including defaults) partition by hash (${column})`)
    for (let shard = 0; shard < shards; shard++)
      await client.query(`create table ${table}_${shard} partition of ${table}
        for values with (modulus ${shards}, remainder ${shard})`)
  }
  await client.query(`create table pg_dist_partition (logicalrelid regclass)`)
  for (const table of distributed.keys()) await client.query(`drop table ${table}_whole cascade`)
  for (const wanted of 'pufci') {
    for (const { table, name, kind, definition } of definitions.filter(({ kind }) => kind === wanted))
      await client.query(kind === 'i' ? definition : `alter table ${table} add constraint ${name} ${definition}`)
  }
}

/** Of all tables but the migrator's, which stay on one server. */
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
  return rows.filter(({ table }) => !/^(kysely_.*|expansions)$/.test(table))
}
