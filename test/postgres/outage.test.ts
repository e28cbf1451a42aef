import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { inMemory, startPostgres } from '../../scripts/servers/postgres.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { pullAll, pushEntities } from '../support/changes.ts'
import { databaseUrl } from '../support/database-url.ts'
import { depth } from '../support/depth.ts'
import { relyingParty, startMock } from '../support/relying-party.ts'
import { folder, run, type Service, serving } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startLoad, startReading } from './load.ts'
import { follow, servedBy, startInstances } from './processes.ts'

const rounds = depth(1, 10)
const count = depth(2, 3)

t.test(`Postgres is killed and restarted under load ${rounds} times: requests get 503 only meanwhile`, async (t) => {
  const postgres = await startPostgres(await inMemory())
  t.teardown(() => postgres.close())
  const dataDir = await folder(t)
  const env = { DATABASE_URL: `${postgres.url}/postgres`, ...(await provider(t)) }
  const ada = await signInBefore(t, dataDir, env)
  const instances = await startInstances(t, count, dataDir, env)
  const followers = instances.map((_, index) => follow(t, instances, ada, `socket-${index}`, index))
  const statuses = new Map<string, number>()
  const persistent = servedBy(instances, ada, ({ status, headers }, path) => {
    const key = `${path} ${status}${status === 503 && !headers['retry-after'] ? ' without Retry-After' : ''}`
    statuses.set(key, (statuses.get(key) ?? 0) + 1)
  })
  const load = startLoad(persistent, 6)
  const reading = startReading(persistent, [
    ['GET', '/api/v1/auth/session'],
    ['GET', '/api/v1/bookmarks'],
    ['POST', '/api/v1/sync/pull', { body: { since: Number.MAX_SAFE_INTEGER } }],
    ['GET', '/api/v1/exports'],
  ])

  const turned: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const before = load.acknowledged.length
    await until(() => load.acknowledged.length >= before + 10 + round)
    const stopped = performance.now()
    await postgres.stop()
    await untilAll(instances, 'unhealthy', 503)
    const started = performance.now()
    await sleep(round * 20)
    await postgres.start()
    await untilAll(instances, 'healthy', 200)
    turned.push(started - stopped, performance.now() - started - round * 20)
  }
  const before = load.acknowledged.length
  await until(() => load.acknowledged.length >= before + 10)
  await Promise.all([load.stop(), reading.stop()])
  const slowest = Math.round(Math.max(...turned))
  t.comment(`health changed within ${slowest} ms each time`)
  t.comment(JSON.stringify(Object.fromEntries([...statuses].sort())))

  const unexpected = [...statuses.keys()].filter((key) => !/ (200|503)$/.test(key))
  t.same(unexpected, [], 'each response is 200, or 503 with Retry-After')
  t.ok([...statuses.keys()].some((key) => key.endsWith(' 503')))
  const pulled = (await pullAll(persistent)).changes.map(({ entity_id }) => entity_id)
  const there = new Set(pulled)
  t.same(
    load.acknowledged.flat().filter((name) => !there.has(name)),
    [],
    'no acknowledged change is lost',
  )
  t.equal(pulled.length, load.acknowledged.flat().length, 'repeated pushes are stored once')
  for (const { entities, closeCodes } of followers) {
    await until(() => entities.length >= pulled.length)
    t.ok(entities.join() === pulled.join(), 'a socket gets each change once')
    t.same(closeCodes, [], 'no socket was closed')
  }

  await postgres.stop()
  const exits = await Promise.all(instances.map(({ kill }) => kill('SIGTERM')))
  t.same(new Set(exits.map(({ code }) => code)), new Set([0]), 'an instance without a database stops cleanly')

  const unstarted = { ...env, DATA_DIR: dataDir, SERVE_APP: 'false', LOG_LEVEL: 'warn' }
  const port = String(await freePort())
  const waiting = run(t, { ...unstarted, PORT: port })
  const impatient = run(t, { ...unstarted, START_TIMEOUT: '0', PORT: String(await freePort()) })
  t.equal((await impatient.exited).code, 1)
  t.match(impatient.stderr(), /^DATABASE_URL: the database cannot be used \(.+\)\n$/)
  await until(() => waiting.stdout().includes('waiting for the database'))
  await postgres.start()
  await serving(waiting)
  // It is ready when it also receives the notices of the other instances, which may take a moment.
  await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200)
})

/** A provider that responds, so that only the database can make the service unhealthy. */
async function provider(t: Test): Promise<Record<string, string>> {
  const { issuer } = await startMock(t)
  return { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: relyingParty.clientId, OIDC_CLIENT_SECRET: relyingParty.clientSecret }
}

async function signInBefore(t: Test, dataDir: string, env: Record<string, string>): Promise<TestUser> {
  const { user, close } = await buildApp(t, env, { dataDir })
  const ada = await user('ada')
  await close()
  return ada
}

/** Waits until all instances report this health and this readiness. The health report itself is always a 200. */
async function untilAll(instances: Service[], status: string, ready: number): Promise<void> {
  await until(async () => {
    const reports = await Promise.all(instances.map(({ call }) => call('GET', '/api/v1/health')))
    if (reports.some((report) => report.status !== 200)) throw new Error('the health report did not respond with 200')
    const readiness = await Promise.all(instances.map(({ call }) => call('GET', '/readyz')))
    // On a busy machine, a probe between the two requests may time out, so this may take several tries.
    return reports.every(({ body }) => body.status === status) && readiness.every((answer) => answer.status === ready)
  })
}

t.test('A full or failing disk or a damaged page: writes get 503, it is logged, the service stays ready', async (t) => {
  const { app, user, context, log } = await buildApp(t)
  const { db } = context.database
  const ada = await user('ada')
  const push = async (entity_id: string) => {
    const { status, headers } = await pushEntities(ada, entity_id)
    return [status, headers['retry-after']]
  }
  t.same(await push('before'), [200, undefined])
  const failing = (code: string) =>
    sql`create or replace function fail() returns trigger language plpgsql as ${sql.lit(
      `begin raise exception using errcode = '${code}'; end`,
    )}`.execute(db)
  const refused = []
  for (const code of ['53100', '58030', 'XX001', 'XX002']) {
    await failing(code)
    if (refused.length === 0)
      await sql`create trigger fail before insert on records for each row execute function fail()`.execute(db)
    refused.push(await push(code))
  }
  t.same(refused, Array(4).fill([503, '1']))
  const { statusCode, json } = await app.inject('/readyz')
  t.same([statusCode, json().faults], [200, ['full', 'failing', 'damaged']])
  for (const code of ['53100', '58030', 'XX001'])
    t.ok(
      log.some((line) => line.includes(`"${code}"`)),
      code,
    )
})

t.test('While the database server is read-only, writes get 503 and the service is not ready', async (t) => {
  const { app, user, context, dataDir, log } = await buildApp(t)
  const ada = await user('ada')
  const readiness = async () => (await app.inject('/readyz')).statusCode
  t.equal((await pushEntities(ada, 'before')).status, 200)

  const admin = new pg.Client({ connectionString: await databaseUrl(dataDir) })
  await admin.connect()
  t.teardown(() => admin.end())
  const { database: name } = admin
  // As after a failover, the connections of an instance now lead to a read-only standby.
  await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
  await admin.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  await until(() => !context.health.components().database)
  t.equal(await readiness(), 503)
  const refused = await pushEntities(ada, 'meanwhile')
  t.match([refused.status, refused.headers['retry-after']], [503, /^\d+$/])
  const errors = log.map((line) => JSON.parse(line)).filter(({ level, reqId }) => level === 50 && reqId)
  t.match(errors, [{ err: { code: '25006', message: /in a read-only transaction/ } }], 'the log says why')

  await admin.query('SET default_transaction_read_only = off')
  await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = off`)
  await until(async () => (await readiness()) === 200)
  // Each of the read-only connections is replaced after it has failed.
  await until(async () => (await pushEntities(ada, 'after')).status === 200)
})
