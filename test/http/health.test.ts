import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { breakDatabase } from '../support/database.ts'

const app = await buildApp(t)

t.test(
  'Health follows the database both ways, by itself and within seconds; each change is one log line',
  async (t) => {
    // Other components are unreachable in these tests.
    const isUnhealthy = async () => (await app.call('GET', '/api/v1/health')).body.status === 'unhealthy'
    t.notOk(await isUnhealthy())
    const repair = breakDatabase(app.context)
    t.teardown(repair)
    while (!(await isUnhealthy())) await sleep(10)
    t.equal((await app.app.inject('/readyz')).statusCode, 503)
    await sleep(2_500)
    repair()
    while (await isUnhealthy()) await sleep(10)
    t.equal((await app.app.inject('/readyz')).statusCode, 200)
    const lines = app.log.map((line) => JSON.parse(line).msg).filter((msg) => msg?.includes('the database'))
    t.same(lines, ['the database is unreachable', 'the database is reachable again'])
  },
)
