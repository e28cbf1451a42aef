import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { pullAll } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { relyingParty, startMock } from '../support/relying-party.ts'
import { folder, run, type Service, serving } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startLoad } from './load.ts'
import { follow, servedBy, startInstances } from './processes.ts'

const rounds = depth(1, 10)
const count = depth(2, 3)

t.test(
  `Postgres is stopped at once and started again under load, ${rounds} rounds: 503, then all goes on`,
  async (t) => {
    const postgres = await startPostgres()
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
    const reading = startReading(persistent)

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
    t.comment(`health turned, each time, within ${slowest} ms`)
    t.comment(JSON.stringify(Object.fromEntries([...statuses].sort())))

    const unexpected = [...statuses.keys()].filter((key) => !/ (200|503)$/.test(key))
    t.same(unexpected, [], 'responses are 200, or 503 that says when to try again')
    t.ok([...statuses.keys()].some((key) => key.endsWith(' 503')))
    const pulled = (await pullAll(persistent)).changes.map(({ entity_id }) => entity_id)
    const there = new Set(pulled)
    t.same(
      load.acknowledged.flat().filter((name) => !there.has(name)),
      [],
      'nothing acknowledged is lost',
    )
    t.equal(pulled.length, load.acknowledged.flat().length, 'and what got no response and was repeated is there once')
    for (const { entities, closeCodes } of followers) {
      await until(() => entities.length >= pulled.length)
      t.ok(entities.join() === pulled.join(), 'a socket missed and repeated nothing')
      t.same(closeCodes, [], 'and stayed open')
    }

    await postgres.stop()
    const exits = await Promise.all(instances.map(({ kill }) => kill('SIGTERM')))
    t.same(new Set(exits.map(({ code }) => code)), new Set([0]), 'without a database an instance stops cleanly, too')

    const unstarted = { ...env, DATA_DIR: dataDir, SERVE_DEMO: 'false', LOG_LEVEL: 'warn' }
    const port = String(await freePort())
    const waiting = run(t, { ...unstarted, PORT: port })
    const impatient = run(t, { ...unstarted, START_TIMEOUT: '0', PORT: String(await freePort()) })
    t.equal((await impatient.exited).code, 1)
    t.match(impatient.stderr(), /^DATABASE_URL: the database cannot be used \(.+\)\n$/)
    await until(() => waiting.stdout().includes('waiting for the database'))
    await postgres.start()
    await serving(waiting)
    t.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200, 'an instance waits for it')
  },
)

/** One that responds, so that nothing but the database makes the service unhealthy. */
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

/** Health always responds; readiness, for load balancers, follows it. */
async function untilAll(instances: Service[], status: string, ready: number): Promise<void> {
  await until(async () => {
    const reports = await Promise.all(instances.map(({ call }) => call('GET', '/api/v1/health')))
    if (reports.some((report) => report.status !== 200)) throw new Error('the health report did not respond with 200')
    return reports.every(({ body }) => body.status === status)
  })
  for (const { call } of instances) {
    const answer = await call('GET', '/readyz')
    if (answer.status !== ready) throw new Error(`/readyz responded with ${answer.status} while ${status}`)
  }
}

/** Everything else that a client asks for again and again. */
function startReading({ call }: TestUser): { stop(): Promise<void> } {
  let stopped = false
  const requests: [method: string, path: string, body?: object][] = [
    ['GET', '/api/v1/auth/session'],
    ['GET', '/api/v1/bookmarks'],
    ['POST', '/api/v1/sync/pull', { since: Number.MAX_SAFE_INTEGER }],
    ['GET', '/api/v1/exports'],
  ]
  const reading = requests.map(async ([method, path, body]) => {
    while (!stopped) {
      await call(method, path, body ? { body } : {})
      await sleep(10)
    }
  })
  return {
    async stop() {
      stopped = true
      await Promise.all(reading)
    },
  }
}
