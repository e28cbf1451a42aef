import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { buildApp, sendingTo } from '../support/app.ts'
import { pullAll } from '../support/changes.ts'
import { isDeep } from '../support/depth.ts'
import { type RunningProxy, startNginx } from '../support/proxies.ts'
import { callsTo, folder } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startLoad, startReading } from './load.ts'
import { startInstance } from './processes.ts'

const rounds = 2
/** nginx does not check `/readyz`. Draining lets its open connections end with their next response. */
const drainSeconds = 2

if (!isDeep) t.comment('restarts take long: `npm test -- --deep` runs this file')
else {
  t.test('Two rolling restarts behind nginx under load: no request fails, no change is lost', async (t) => {
    const dataDir = await folder(t)
    const prepared = await buildApp(t, {}, { dataDir })
    const ada = await prepared.user('ada')
    await prepared.close()
    const ports = [await freePort(), await freePort(), await freePort()]
    const proxy = await startNginx(
      t,
      ports.map((port) => `127.0.0.1:${port}`),
    )
    if (!proxy) return t.comment('SKIPPED: no nginx here')
    const start = (port: string) =>
      startInstance(t, dataDir, { PORT: port, TRUST_PROXY: '1', DRAIN_SECONDS: String(drainSeconds) })
    const instances = await Promise.all(ports.map((port) => start(String(port))))

    const { statuses, call } = counting(proxy)
    const user = sendingTo(call, ada)
    const load = startLoad(user, 12)
    const reading = startReading(user, [
      ['GET', '/api/v1/auth/session'],
      ['GET', '/api/v1/bookmarks'],
      ['GET', '/api/v1/sync/status'],
    ])
    for (let restart = 0; restart < rounds * instances.length; restart += 1) {
      const index = restart % instances.length
      const before = load.acknowledged.length
      await until(() => load.acknowledged.length > before + 50)
      t.same(await instances[index]?.kill('SIGTERM'), { code: 0, signal: null })
      instances[index] = await start(String(ports[index]))
    }
    const before = load.acknowledged.length
    await until(() => load.acknowledged.length > before + 50)
    await Promise.all([load.stop(), reading.stop()])

    t.comment(JSON.stringify(Object.fromEntries([...statuses].sort())))
    t.same(
      [...statuses.keys()].filter((status) => !/^[24]\d\d$/.test(status)),
      [],
      'every response is a 2xx or 4xx',
    )
    const there = new Set((await pullAll(user)).changes.map(({ entity_id }) => entity_id))
    t.same(
      load.acknowledged.flat().filter((name) => !there.has(name)),
      [],
      'no acknowledged change is lost',
    )
  })
}

/** Sends requests through the proxy, repeats those with a 5xx or without a response, and counts statuses. */
function counting({ origin, fetch }: RunningProxy) {
  const statuses = new Map<string, number>()
  const count = (status: string) => void statuses.set(status, (statuses.get(status) ?? 0) + 1)
  const call = callsTo(origin, async (...request) => {
    for (;;) {
      const response = await fetch(...request).catch((error) => error as Error)
      count(response instanceof Error ? response.message : String(response.status))
      if ('status' in response && response.status < 500) return response
      await sleep(20)
    }
  })
  return { statuses, call }
}
