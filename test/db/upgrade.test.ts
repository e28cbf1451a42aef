import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { expand } from '../../src/service/db/migrate.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { recount } from '../../src/service/upkeep/recount.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { isPostgres } from '../support/database-url.ts'
import { depth, isDeep } from '../support/depth.ts'
import { digestOf } from '../support/digest.ts'
import { silent } from '../support/log.ts'
import { pick } from '../support/pick.ts'
import { sweepVersions } from '../support/sweeps.ts'
import { until } from '../support/until.ts'
import { type Connection, makeReleased, readSession, replay } from './releases/released.ts'

/** Instances of the previous release go on while the migrations of this version run. */

const release = '2.0.0'
const session = await readSession(release)

/** Sends one session after another until it is stopped, as an old instance. */
function keepWriting(connection: Connection) {
  const result = { sessions: 0, wrong: [] as unknown[] }
  let stopped = false
  const running = (async () => {
    while (!stopped) {
      result.wrong.push(...(await replay(connection, session).catch((error) => [error])))
      result.sessions += 1
      if (result.wrong.length > 0) return
    }
  })()
  return {
    result,
    async stop() {
      stopped = true
      await running
    },
  }
}

async function migrateNow(url: string): Promise<void> {
  await (await openDatabase(url, silent)).close()
}

/** So many tokens and records, of somebody who is not there. */
async function addMany({ run }: Connection, count: number): Promise<void> {
  const numbers = `generate_series(1, ${count}) as n`
  await run(`insert into tokens select 'many ' || n, 'session', (select min(id) from logins), 1, 1 from ${numbers}`)
  await run(`insert into records select user_id, entity_type, 'many ' || n, data_hash, created_at, updated_at, deleted_at,
    n, event_id, operation, timestamp, device_id, conflict_resolved, resolution_strategy, overwritten, bytes, data_stamp
    from (select * from records limit 1) as one, ${numbers}`)
}

t.test('Instances of the previous release get the same answers before, during and after the migrations', async (t) => {
  const { url, connect } = await makeReleased(t, release)
  // SQLite has one instance at a time, to which one may go back.
  if (!isPostgres) {
    const before = await connect()
    t.same(await replay(before, session), [])
    await before.close()
    await migrateNow(url)
    t.same(await replay(await connect(), session), [])
    return
  }
  await addMany(await connect(), depth(2_000, 300_000))
  const writers = [keepWriting(await connect()), keepWriting(await connect())]
  const sessions = () => Math.min(...writers.map(({ result }) => result.sessions))
  const failed = () => writers.some(({ result }) => result.wrong.length > 0)
  await until(() => sessions() >= 1 || failed())
  const before = sessions()
  await migrateNow(url)
  const done = sessions()
  if (isDeep) t.ok(done > before, `${done - before} sessions of each writer while the database was migrated`)
  await until(() => sessions() > done || failed())
  await Promise.all(writers.map(({ stop }) => stop()))
  t.same(
    writers.flatMap(({ result }) => result.wrong),
    [],
  )
})

t.test('An instance of the previous release starts on the migrated database: it knows what it must', async (t) => {
  const { url, connect } = await makeReleased(t, release)
  const required = async (connection: Connection) => connection.run('select name from kysely_migration order by name')
  const old = await connect()
  const before = await required(old)
  await old.close()
  await migrateNow(url)
  const connection = await connect()
  t.same(await required(connection), before)
  await connection.run("insert into expansions values ('9999-later')")
  await connection.close()
  await t.resolves(migrateNow(url), 'and this version on a later one, which only added to it')
})

t.test('Expansions leave rows, files, indexes and old columns as they are; new ones need no value', async (t) => {
  const { url, connect } = await makeReleased(t, release)
  const old = await connect()
  const [before, columnsBefore] = [await stateOf(old), await columnsOf(old)]
  await old.close()
  await migrateNow(url)
  const connection = await connect()
  const [after, columns] = [await stateOf(connection), await columnsOf(connection)]
  const wasThere = (row: Column) => columnsBefore.some(({ table }) => table === row.table)
  t.same(after.slice(0, before.length), before)
  t.same(
    columnsBefore.filter((row) => !columns.some((it) => JSON.stringify(it) === JSON.stringify(row))),
    [],
    'columns that are gone or different',
  )
  const added = columns.filter(
    (row) => wasThere(row) && !columnsBefore.some(({ table, name }) => table === row.table && name === row.name),
  )
  t.same(
    added.filter(({ needed }) => needed),
    [],
  )
})

/** On Postgres, where others are using them: the files of the tables and indexes, and who wrote each row last. */
async function stateOf(connection: Connection): Promise<unknown[]> {
  if (!isPostgres) return []
  const tables = (await columnsOf(connection)).map(({ table }) => table)
  const old = [...new Set(tables)].filter((name) => released.has(name))
  const list = old.map((name) => `'${name}'`).join()
  const files = await connection.run(`select c.relname, pg_relation_filenode(c.oid) as file from pg_class c
    left join pg_index i on i.indexrelid = c.oid left join pg_class t on t.oid = i.indrelid
    where c.relkind in ('r', 'i') and coalesce(t.relname, c.relname) in (${list}) order by c.relname`)
  const rows: unknown[] = []
  // Tokens get their users a thousand at a time, afterwards.
  for (const name of old.filter((name) => name !== 'tokens')) {
    rows.push(await connection.run(`select '${name}' as name, ctid::text, xmin::text from ${name} order by ctid`))
  }
  return [files, ...rows]
}

const released = new Set(
  'ciphertexts devices epoch exports heartbeat keyrings kysely_migration logins records rejections tokens used_nonces users'.split(
    ' ',
  ),
)

interface Column {
  table: string
  name: string
  type: string
  needed: number | boolean
}

async function columnsOf(connection: Connection): Promise<Column[]> {
  const rows = isPostgres
    ? await connection.run(`select table_name as table, column_name as name, data_type as type,
        is_nullable = 'NO' and column_default is null as needed
        from information_schema.columns where table_schema = 'public' order by 1, 2`)
    : await connection.run(`select m.name as "table", p.name, p.type, p."notnull" and p.dflt_value is null as needed
        from sqlite_schema m, pragma_table_info(m.name) p where m.type = 'table' order by 1, 2`)
  return rows as Column[]
}

t.test(
  'A migration that cannot get its table soon gives up, so that none waits behind it',
  { skip: !isPostgres },
  async (t: Test) => {
    const { url, connect } = await makeReleased(t, release)
    const database = await openDatabase(url, silent)
    t.teardown(() => database.close())
    const reader = await connect()
    await reader.run('begin')
    await reader.run('select count(*) from records')
    const expansions = {
      '9999-later': {
        up: (trx: Parameters<typeof expand>[0]) =>
          trx.schema.alterTable('records').addColumn('later', 'text').execute(),
      },
    }
    const migrate = () => database.maintain((db) => expand(db, expansions, true))
    const writer = keepWriting(await connect())
    await t.rejects(migrate(), { code: '55P03' })
    const { sessions } = writer.result
    await until(() => writer.result.sessions > sessions || writer.result.wrong.length > 0)
    await reader.run('commit')
    await migrate()
    await database.maintain((db) => sql`create index concurrently later on records (later)`.execute(db))
    await writer.stop()
    t.same(writer.result.wrong, [], 'an index is made beside them, too')
  },
)

t.test('What the previous release stored is served by this version, and both go on', async (t) => {
  const { dataDir, connect } = await makeReleased(t, release)
  const { user, close } = await buildApp(t, {}, { dataDir })
  const ada = await user('ada')
  const { changes } = await pullAll(ada)
  t.same(
    changes.map(({ entity_id, operation }) => `${operation} ${entity_id}`),
    ['create g', 'update a', 'delete b', 'create i', 'delete r'],
  )
  const { total_bookmarks } = (await ada.call('GET', '/api/v1/sync/status')).body
  t.equal(total_bookmarks, 2)
  const pushed = await push(ada, change({ entity_id: 'new' }))
  t.match(pushed.body, { accepted: 1 })
  const digest = async ({ call }: TestUser) => (await call('GET', '/api/v1/sync/status')).body.digest
  const right = async (user: TestUser) =>
    digestOf((await pullAll(user)).changes.filter(({ operation }) => operation !== 'delete'))
  t.equal(await digest(ada), await right(ada))
  await close()
  t.same(await replay(await connect(), session), [], 'after a return to the previous release')
  const again = await buildApp(t, {}, { dataDir })
  const later = await again.user('ada')
  t.equal(await digest(later), await right(later), 'which has written without the digest')
})

t.test('What the previous release stored keeps its times: for a rewind, in the trash, and for the sweep', async (t) => {
  const { dataDir, connect } = await makeReleased(t, release)
  const records = (await (
    await connect()
  ).run(`select entity_id, stamp, deleted_at, data_stamp from records
    where user_id = (select id from users where subject = 'ada') order by stamp`)) as Released[]
  const deleted = records.filter(({ deleted_at }) => deleted_at !== null)
  t.same(pick(deleted, 'entity_id'), ['b', 'r'])
  const { user, context } = await buildApp(t, {}, { dataDir })
  const ada = await user('ada')
  const keepVersionsDays = 30
  const sweep = (now: number) => sweepVersions({ ...context, config: { keepVersionsDays } }, now)
  const get = async (path: string) => (await ada.call('GET', `/api/v1/${path}`)).body
  const last = Math.max(...pick(records, 'stamp'))
  // A record that has no version yet gets one. None is over by then.
  await sweep(last)

  const erasedAt = ({ stamp }: Released) => stamp + keepVersionsDays * 86_400_000
  const trash = deleted.map((row) => ({ id: row.entity_id, deleted_at: row.deleted_at, erased_at: erasedAt(row) }))
  t.match((await get('trash')).bookmarks, trash.toReversed())
  for (const row of deleted) {
    const { versions } = await get(`bookmarks/${row.entity_id}/versions`)
    t.match(versions, [{ began: row.data_stamp, ended: row.stamp, erased_at: erasedAt(row) }])
  }

  for (const to of records.flatMap(({ stamp }) => [stamp - 1, stamp])) {
    const later = records.filter(({ stamp }) => stamp > to)
    const restored = later.filter(({ deleted_at, data_stamp }) => deleted_at !== null && data_stamp <= to).length
    t.match(
      (await ada.call('POST', '/api/v1/sync/rewind', { body: { to, dry_run: true } })).body,
      {
        restored,
        deleted: 0,
        unchanged: records.length - later.length,
        beyond_retention: later.length - restored,
      },
      `to ${to}`,
    )
  }

  for (const [index, row] of deleted.entries()) {
    for (const [now, left] of [
      [erasedAt(row), deleted.slice(index)],
      [erasedAt(row) + 1, deleted.slice(index + 1)],
    ] as const) {
      await sweep(now)
      t.same(pick((await get('trash')).bookmarks, 'id'), pick(left, 'entity_id').toReversed())
    }
  }
  for await (const mended of recount(context.database)) t.equal(mended, undefined)
})

interface Released {
  entity_id: string
  stamp: number
  deleted_at: number | null
  data_stamp: number
}

t.test('Postgres cleans up the large tables early', { skip: !isPostgres }, async (t) => {
  const { url, connect } = await makeReleased(t, release)
  await migrateNow(url)
  const rows = await (await connect()).run(
    `select relname, reloptions from pg_class where reloptions is not null and relkind = 'r' order by relname`,
  )
  const reloptions = [
    'autovacuum_vacuum_scale_factor=0.02',
    'autovacuum_vacuum_threshold=1000',
    'autovacuum_vacuum_insert_scale_factor=0.05',
    'autovacuum_vacuum_insert_threshold=10000',
    'autovacuum_analyze_scale_factor=0.02',
    'autovacuum_analyze_threshold=1000',
  ]
  t.match(rows, [
    { relname: 'ciphertexts', reloptions },
    { relname: 'records', reloptions },
    { relname: 'versions', reloptions },
  ])
})

t.test(
  'npm run migrate brings a database to this schema, beside a writer, once',
  { skip: !isPostgres && !isDeep },
  async (t) => {
    const { url, connect } = await makeReleased(t, release)
    const writer = isPostgres ? keepWriting(await connect()) : undefined
    const { code, stdout, stderr } = await runCommand(t, 'migrate', [], { DATABASE_URL: url, LOG_LEVEL: 'warn' })
    t.same([code, stderr], [0, ''])
    t.match(stdout, /^the database has the schema of this version \(\d{4}-[a-z-]+\)\nNow start [^\n]+\n$/)
    await writer?.stop()
    t.same(writer?.result.wrong ?? [], [])
    const connection = await connect()
    const applied = () => connection.run('select name from expansions order by name')
    const names = await applied()
    await migrateNow(url)
    t.same(await applied(), names)
    t.ok(names.length > 0)
  },
)
