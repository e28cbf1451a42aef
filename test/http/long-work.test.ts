import t from 'tap'
import { buildApp } from '../support/app.ts'
import { change, push } from '../support/changes.ts'

const app = await buildApp(t)
const ada = await app.user('ada')
const content = { encrypted_data: 'QUJD'.repeat(250), data_hash: 'hash' }
const ids = Array.from({ length: 10_000 }, (_, index) => `e${index}`)
const changes = ids.map((id) => change({ ...content, id, entity_id: id }))

/** The processor's time (ms) while it is carried out: in all, and the most between two turns of the event loop. */
async function measure(work: () => Promise<unknown>): Promise<{ all: number; longest: number }> {
  const times: number[] = []
  let before = process.threadCpuUsage()
  const take = () => {
    const { user, system } = process.threadCpuUsage(before)
    before = process.threadCpuUsage()
    times.push((user + system) / 1000)
  }
  const timer = setTimeout(() => {
    take()
    timer.refresh()
  }, 1)
  await work()
  clearTimeout(timer)
  take()
  return { all: times.reduce((sum, time) => sum + time, 0), longest: Math.max(...times) }
}

/** Of the time in all. The parser reads a body in one go, a sixth of what an accepted one costs and half of a refused one. */
const [mostOfAccepted, mostOfRefused] = [0.4, 0.75]
// The first request of a kind also compiles its validators.
await push(ada, change({ entity_id: 'first' }))

for (const [path, body, status, most] of [
  ['/api/v1/sync/push', { changes }, 200, mostOfAccepted],
  ['/api/v1/sync/push', { changes: [...changes.slice(1), {}] }, 400, mostOfRefused],
  ['/api/v1/sync/import', { bookmarks: ids.map((id) => ({ id: `i${id}`, ...content })) }, 200, mostOfAccepted],
  ['/api/v1/sync/rewind', { to: 1, dry_run: false }, 200, mostOfAccepted],
] as const) {
  t.test(`The largest requests are worked on in steps: ${status} to ${path}`, async (t) => {
    const payload = Buffer.from(JSON.stringify(body))
    const headers = { cookie: ada.cookie, 'content-type': 'application/json' }
    const { all, longest } = await measure(async () => {
      t.equal((await app.app.inject({ method: 'POST', url: path, headers, payload })).statusCode, status)
    })
    t.ok(longest < most * all, `at most ${longest.toFixed()} of ${all.toFixed()} ms at a stretch`)
  })
}
