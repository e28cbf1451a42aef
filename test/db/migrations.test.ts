import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'
import t from 'tap'
import { distributed, reference } from '../../src/service/db/distribute.ts'
import type { Database, Db } from '../../src/service/db/engine/database.ts'
import { migrate } from '../../src/service/db/migrate.ts'
import { type Migration, migrations } from '../../src/service/db/migrations/index.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { snapshot } from '../support/database.ts'
import { databaseUrl, isPostgres } from '../support/database-url.ts'
import { silent } from '../support/log.ts'

/** Two migrations of a later release. They leave everything that earlier instances use unchanged. */
const added: Migration[] = [
  {
    name: '9001-labels',
    isRequired: false,
    async up(db) {
      await sql`create table labels (user_id text not null, id text not null, name text not null,
        primary key (user_id, id))`.execute(db)
      await sql`alter table records add column label text`.execute(db)
    },
  },
  {
    name: '9002-labelled',
    isRequired: false,
    async up(db) {
      await sql`insert into labels select id, 'first', name from users`.execute(db)
      await sql`update records set label = 'first'`.execute(db)
    },
  },
]
const later = [...migrations, ...added]

/** A service with a user who has records, versions and deleted records for a migration to process. */
async function filled() {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  await write(ada, 1)
  return { app, ada, database: app.context.database }
}

async function write(user: TestUser, time: number): Promise<void> {
  const answers = [
    await push(user, change({ entity_id: 'kept', timestamp: time }), change({ entity_id: 'gone', timestamp: time })),
    await push(user, change({ entity_id: 'gone', timestamp: time + 1, operation: 'delete' })),
  ]
  t.same(
    answers.map(({ status }) => status),
    [200, 200],
  )
}

async function namesIn({ db }: { db: Db }): Promise<string[]> {
  const rows = await db.selectFrom('applied_migrations').select('name').orderBy('applied_at').orderBy('name').execute()
  return rows.map(({ name }) => name)
}

async function labelled({ db }: Pick<Database, 'db'>): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from records where label = 'first'`.execute(db)
  return Number(rows[0]?.count)
}

t.test('A database is migrated while an instance uses it; migrating it again changes nothing', async (t) => {
  const { app, ada, database } = await filled()
  const before = await pullAll(ada)
  await migrate(database, later)
  t.same(await namesIn(database), ['3.0.0', '9001-labels', '9002-labelled'])
  t.equal(await labelled(database), 2)
  t.same(await pullAll(ada), before)
  await write(ada, 10)
  t.equal((await push(ada, change({ entity_id: 'new' }))).body.accepted, 1)
  const whole = await snapshot(app.context)
  await migrate(database, later)
  t.equal(await snapshot(app.context), whole)
  if (!isPostgres) return
  const again = await openDatabase(app.context.config.databaseUrl, silent)
  t.same(await namesIn(again), ['3.0.0', '9001-labels', '9002-labelled'], 'this version starts on the new schema')
  await again.close()
})

t.test('An interrupted migration leaves nothing behind, and the migrations before it stay applied', async (t) => {
  const { app, ada, database } = await filled()
  const [first, second] = added as [Migration, Migration]
  await migrate(database, [...migrations, first])
  const before = await snapshot(app.context)
  const interrupted: Migration = {
    ...second,
    async up(db, isServer) {
      await second.up(db, isServer)
      await sql`create index labels_name on labels (name)`.execute(db)
      throw new Error('the disk is gone')
    },
  }
  const message = 'DATABASE_URL: the database cannot be migrated (the disk is gone)'
  for (const _ of ['once', 'and again'])
    await t.rejects(migrate(database, [...migrations, first, interrupted]), { name: 'ConfigError', message })
  t.equal(await snapshot(app.context), before)
  await write(ada, 10)
  await migrate(database, later)
  t.equal(await labelled(database), 2)
})

t.test('When several instances start at once, one applies the migrations', async (t) => {
  const { database } = await filled()
  let runs = 0
  const counted = added.map((step): Migration => {
    return { ...step, up: async (db, isServer) => step.up(db, isServer).then(() => void runs++) }
  })
  await Promise.all([1, 2, 3].map(() => migrate(database, [...migrations, ...counted])))
  t.equal(runs, 2)
})

t.test(
  'A migration that cannot lock its table soon gives up, so that no request waits behind it',
  { skip: !isPostgres },
  async (t) => {
    const { ada, database } = await filled()
    await database.db.transaction().execute(async (reader) => {
      await reader.selectFrom('records').select('entity_id').execute()
      await t.rejects(migrate(database, later), { name: 'ConfigError', cause: { code: '55P03' } })
      await write(ada, 10)
    })
    await migrate(database, later)
    t.equal(await labelled(database), 2)
  },
)

t.test('The service refuses a database with a newer schema and leaves it unchanged', async (t) => {
  const { app, database } = await filled()
  const required = { name: '9003-later', isRequired: true, up: async () => {} }
  await migrate(database, [...later, required])
  const before = await snapshot(app.context)
  const message = 'DATABASE_URL: the database has a newer version (9003-later); start that version'
  for (const steps of [migrations, later]) await t.rejects(migrate(database, steps), { name: 'ConfigError', message })
  t.equal(await snapshot(app.context), before)
})

t.test('The service refuses a database from before 3.0.0 in one line and leaves it unchanged', async (t) => {
  const url = await databaseUrl(t.testdir())
  const old = await openDatabase(url, silent)
  await sql`drop table applied_migrations`.execute(old.db)
  await sql`create table kysely_migration (name text primary key, timestamp text not null)`.execute(old.db)
  await sql`insert into kysely_migration values ('0001-initial', '2026-01-01')`.execute(old.db)
  const whole = async () =>
    isPostgres ? snapshot({ database: old } as Parameters<typeof snapshot>[0]) : readFile(url.slice('sqlite:'.length))
  if (!isPostgres) await old.close()
  const before = await whole()
  const says = 'DATABASE_URL: the database was made by a version before 3.0.0, which this one cannot use'
  for (const _ of ['once', 'and again'])
    await t.rejects(openDatabase(url, silent), { name: 'ConfigError', message: `${says}; start with an empty one` })
  for (const [name, ...words] of [['migrate'], ['reseal'], ['restored'], ['admin', 'users']] as const) {
    const env = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 1).toString('base64') }
    const { code, stdout, stderr } = await runCommand(t, name, words, env)
    t.same([code, stdout], [1, ''], name)
    t.match(stderr, says)
    t.match(stderr, /^[^\n]+\n$/, 'one line')
  }
  t.same(await whole(), before)
  if (isPostgres) await old.close()
})

t.test(
  'On Postgres, another program’s tables are refused, but not in other schemas',
  { skip: !isPostgres },
  async (t) => {
    const url = await databaseUrl(t.testdir())
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    await client.query('create table notes (name text)')
    const message = /^DATABASE_URL: the database does not belong to this service: it has the table notes; start with/
    await t.rejects(openDatabase(url, silent), { name: 'ConfigError', message })
    await client.query('create schema other; alter table notes set schema other; create view notes as select 1')
    await (await openDatabase(url, silent)).close()
  },
)

t.test('npm run migrate creates the schema; a second run changes nothing', async (t) => {
  const dataDir = t.testdir()
  const env = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir), LOG_LEVEL: 'warn' }
  for (const _ of ['once', 'and again']) {
    const { code, stdout, stderr } = await runCommand(t, 'migrate', [], env)
    t.same([code, stderr], [0, ''])
    t.equal(stdout, 'the database has the schema of this version (3.0.0)\nNow start the instances of this version.\n')
  }
})

t.test('With Citus, the first npm run migrate distributes the tables', { skip: !isPostgres }, async (t) => {
  const dataDir = t.testdir()
  const env = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir), LOG_LEVEL: 'warn' }
  const database = await openDatabase(env.DATABASE_URL, silent)
  t.teardown(() => database.close())
  // Stands in for the Citus extension: records which of its functions were called.
  for (const statement of [
    'create table pg_dist_partition (logicalrelid regclass)',
    'create table asked (n serial, what text)',
    `create function create_reference_table(name regclass) returns void language sql as $$
      insert into pg_dist_partition values (name); insert into asked (what) values ('reference ' || name) $$`,
    `create function create_distributed_table(name regclass, by text, colocate_with text) returns void language sql as $$
      insert into pg_dist_partition values (name); insert into asked (what) values (name || ' ' || by || ' ' || colocate_with) $$`,
    `create function truncate_local_data_after_distributing_table(name regclass) returns void language sql as $$
      insert into asked (what) values ('truncate ' || name) $$`,
  ])
    await sql.raw(statement).execute(database.db)
  const asked = async () => {
    const { rows } = await sql<{ what: string }>`select what from asked order by n`.execute(database.db)
    await sql`truncate asked`.execute(database.db)
    return rows.map(({ what }) => what)
  }
  const tables = [...reference, ...Object.keys(distributed)]
  const erased = tables.map((name) => `truncate ${name}`)

  const { code, stdout } = await runCommand(t, 'migrate', [], env)
  t.equal(code, 0)
  t.match(stdout, `Citus: ${tables.length} tables are now on all servers (${tables.join(', ')})\n`)
  const spread = Object.entries(distributed).map(([table, column]) => {
    return `${table} ${column} ${table === 'users' ? 'default' : column === 'user_id' ? 'users' : 'none'}`
  })
  t.same(await asked(), [...reference.map((name) => `reference ${name}`), ...spread, ...erased])
  t.notMatch((await runCommand(t, 'migrate', [], env)).stdout, 'Citus')
  t.same(await asked(), erased, 'the next run erases what an interrupted one left behind')
})

t.test(
  'Rows of all tables but the large ones and identities refer to a user or login by a foreign key',
  { skip: isPostgres },
  async (t) => {
    const path = join(t.testdir(), 'bookmarks.db')
    await (await openDatabase(`sqlite:${path}`, silent)).close()
    const sqlite = new Sqlite(path)
    const tablesWith = (query: string) => sqlite.prepare<[], string>(query).pluck().all()
    const ofUsers = tablesWith(
      "select m.name from pragma_table_list m, pragma_table_info(m.name) c where c.name = 'user_id'",
    )
    const referring = tablesWith(
      "select m.name from pragma_table_list m, pragma_foreign_key_list(m.name) f where f.\"table\" in ('users', 'logins')",
    )
    const without = ofUsers.filter((table) => !referring.includes(table))
    t.same(without.sort(), ['ciphertexts', 'identities', 'records', 'versions'])
    const foreign =
      "select m.name from pragma_table_list m, pragma_table_info(m.name) c where c.pk = 1 and m.type = 'table' and c.name not in ('user_id')"
    t.same(
      tablesWith(foreign).sort(),
      ['applied_migrations', 'epoch', 'identities', 'limits_in_force', 'providers', 'used_nonces', 'users'],
      'in all other tables, the primary key begins with user_id',
    )
    sqlite.close()
  },
)

/** All indexes but those of primary keys. Writes have to update each, so each needs a query that uses it. */
const indexesOf = {
  exports: ['exports_expiry', 'exports_status'],
  devices: ['devices_last_sync'],
  identities: ['identities_user'],
  keyring_versions: ['keyring_versions_replaced_at'],
  pairings: ['pairings_expiry'],
  records: ['records_newest', 'records_sequence'],
  tokens: ['tokens_expiry', 'tokens_login'],
  used_nonces: ['used_nonces_expiry'],
  users: ['users_identity'],
  versions: ['versions_data', 'versions_deleted', 'versions_event', 'versions_open', 'versions_open_event'],
}

t.test('The tables have no other indexes than these, and the schema names the query of each', async (t) => {
  const path = join(t.testdir(), 'bookmarks.db')
  await (await openDatabase(`sqlite:${path}`, silent)).close()
  const sqlite = new Sqlite(path)
  t.teardown(() => sqlite.close())
  const found = sqlite
    .prepare<[], { table: string; name: string }>(
      `select tbl_name as "table", name from sqlite_schema where type = 'index' and sql is not null order by name`,
    )
    .all()
  const byTable = Object.entries(Object.groupBy(found, ({ table }) => table))
  t.same(Object.fromEntries(byTable.map(([table, own = []]) => [table, own.map(({ name }) => name)])), indexesOf)
  const schema = await readFile('src/service/db/migrations/schema-3.0.0.ts', 'utf8')
  const described = [...schema.matchAll(/^-- \w+.*\ncreate (?:unique )?index (\w+)/gm)].map(([, name]) => name)
  t.same(described.sort(), Object.values(indexesOf).flat().sort())
})

t.test('Postgres vacuums the large tables early', { skip: !isPostgres }, async (t) => {
  const database = await openDatabase(await databaseUrl(t.testdir()), silent)
  t.teardown(() => database.close())
  const { rows } = await sql<{ relname: string; reloptions: string[] }>`select relname, reloptions from pg_class
    where reloptions is not null and relkind = 'r' order by relname`.execute(database.db)
  t.same(
    rows.map(({ relname }) => relname),
    ['ciphertexts', 'records', 'versions'],
  )
  for (const { reloptions } of rows) t.ok(reloptions.includes('autovacuum_vacuum_scale_factor=0.02'))
})
