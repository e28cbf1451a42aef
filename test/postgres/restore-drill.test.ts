import pg from 'pg'
import t, { type Test } from 'tap'
import { inMemory, type PostgresServer, startPostgres } from '../../scripts/servers/postgres.ts'
import { type DrillService, runDrill } from '../client/sync/drill.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { runCommand } from '../support/command.ts'
import { isDeep } from '../support/depth.ts'
import { until } from '../support/until.ts'

/** The restore drill on Postgres: restoring a dump, and failing over to a standby that lacks the last commits. */

const name = 'drill'

if (!isDeep) t.plan(0, '`npm test -- --deep` runs it: it starts servers of its own')
else {
  for (const [what, place] of [
    ['a restore of a dump', onDump],
    ['a failover to a standby that lacked the last commits', onStandby],
  ] as const) {
    t.test(`After ${what}, the devices push the lost changes again, once, with their history`, async (t) => {
      t.same(await runDrill(await place(t, true)), [])
    })

    t.test(`Without a new epoch, the drill fails after ${what}`, async (t) => {
      const faults = await runDrill(await place(t, false))
      t.match(faults, ['a does not show what the service has', 'b does not show what the service has'])
    })
  }
}

/** Reads a snapshot of all tables, as `pg_dump` does, and later writes it into the emptied tables. */
async function onDump(t: Test, beginsEpoch: boolean): Promise<DrillService> {
  const server = await startServer(t)
  const service = await startService(t, server)
  const tables = new Map<string, unknown[]>()
  return {
    user: service.user,
    async backUp(work) {
      await work()
      await withClient(`${server.url}/${name}`, async (client) => {
        await client.query('begin isolation level repeatable read')
        for (const table of await tablesOf(client)) {
          const { rows } = await client.query(`select to_jsonb(t) as row from "${table}" as t`)
          tables.set(
            table,
            rows.map(({ row }) => row),
          )
          await work()
        }
        await client.query('commit')
      })
    },
    async goBack() {
      await service.stop()
      await withClient(`${server.url}/${name}`, async (client) => {
        await client.query('set session_replication_role = replica')
        for (const table of tables.keys()) await client.query(`truncate "${table}" cascade`)
        for (const [table, rows] of tables) {
          await client.query(
            `insert into "${table}" select r.* from jsonb_array_elements($1::jsonb) as e, jsonb_populate_record(null::"${table}", e) as r`,
            [JSON.stringify(rows)],
          )
        }
      })
      await service.startOn(server, beginsEpoch)
    },
  }
}

/** The standby replicates everything up to the backup. Then the link breaks, and later the primary dies. */
async function onStandby(t: Test, beginsEpoch: boolean): Promise<DrillService> {
  const primary = await startServer(t)
  const standby = await primary.startStandby()
  t.teardown(() => standby.close())
  const service = await startService(t, primary)
  return {
    user: service.user,
    async backUp(work) {
      await work()
      await work()
      await until(async () => (await positionOf(standby)) >= (await positionOf(primary)))
      await withClient(`${standby.url}/postgres`, async (client) => {
        await client.query("alter system set primary_conninfo = ''")
        await client.query('select pg_reload_conf()')
        await until(async () => (await client.query('select 1 from pg_stat_wal_receiver')).rows.length === 0)
      })
      await work()
    },
    async goBack() {
      await primary.stop()
      await service.stop()
      await withClient(`${standby.url}/postgres`, (client) => client.query('select pg_promote()'))
      await service.startOn(standby, beginsEpoch)
    },
  }
}

async function startServer(t: Test): Promise<PostgresServer> {
  const server = await startPostgres(await inMemory())
  t.teardown(() => server.close())
  await withClient(`${server.url}/postgres`, (client) => client.query(`create database ${name}`))
  return server
}

async function startService(t: Test, server: PostgresServer) {
  const start = (on: PostgresServer) => buildApp(t, { DATABASE_URL: `${on.url}/${name}`, LOG_LEVEL: 'fatal' })
  let app = await start(server)
  const ann = await app.user('ann')
  const user: TestUser = { ...ann, call: (...request) => app.as(ann).call(...request) }
  return {
    user,
    stop: () => app.close(),
    async startOn(on: PostgresServer, beginsEpoch: boolean) {
      const env = { DATA_DIR: app.dataDir, DATABASE_URL: `${on.url}/${name}` }
      if (beginsEpoch) await runCommand(t, 'restored', [], env)
      app = await start(on)
    },
  }
}

async function tablesOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query(
    "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition",
  )
  return rows.map(({ relname }) => relname)
}

/** The position in the write-ahead log that the server has reached. */
async function positionOf(server: PostgresServer): Promise<number> {
  return withClient(`${server.url}/postgres`, async (client) => {
    const position = 'case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end'
    const { rows } = await client.query(`select (${position} - '0/0')::float8 as bytes`)
    return rows[0].bytes
  })
}

async function withClient<T>(connectionString: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}
