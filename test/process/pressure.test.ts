import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { change } from '../support/changes.ts'
import { isDeep } from '../support/depth.ts'
import { folder, type Service, signInBefore, startService } from '../support/service.ts'

const crowd = 64
const small = '/api/v1/sync/status'
const long = Buffer.from(`{"changes":[${Array(170_000).fill('{}')}]}`)
const probes = ['/livez', '/readyz', '/api/v1/health']

async function start(t: Test) {
  const dataDir = await folder(t)
  const users = await signInBefore(t, dataDir, ['ada', 'bob'])
  const service = await startService(t, dataDir)
  const [ada, bob] = users.map(service.as)
  if (!ada || !bob) throw new Error('nobody is signed in')
  const push = (count: number, length: number) => {
    const encrypted_data = 'x'.repeat(length)
    const changes = Array.from({ length: count }, (_, index) => change({ entity_id: `b${index}`, encrypted_data }))
    return ada.call('POST', '/api/v1/sync/push', { body: { changes } })
  }
  return { service, ada, bob, push }
}

if (!isDeep) t.comment('what is refused, and that it recovers, is in test/http/pressure.test.ts; real work with --deep')
else {
  t.test('64 clients that are slow to read: some are refused, probes get answers, the service recovers', async (t) => {
    const { service, ada, bob } = await start(t)
    const statuses = new Set<number>()
    const seen = new Set<number>()
    let over = false

    async function repeat(work: () => Promise<void>): Promise<void> {
      while (!over) await work()
    }
    const sending = Array.from({ length: crowd }, () =>
      repeat(async () => {
        const status = await sendLong(service, ada.cookie)
        statuses.add(status)
        if (status === 503) await sleep(20)
      }),
    )
    const watching = repeat(async () => {
      for (const path of probes) seen.add((await service.call('GET', path)).status)
    })
    let answer = await bob.call('GET', small)
    while (answer.status === 200) answer = await bob.call('GET', small)
    t.same([answer.status, answer.body], [503, { error: 'Service unavailable' }])
    t.equal(answer.headers['retry-after'], '1')
    over = true
    await Promise.all([...sending, watching])
    t.same([...statuses].sort(), [400, 503])
    t.same([...seen], [200], 'probes')

    for (let served = false; !served; ) {
      const answers = await Promise.all(Array.from({ length: crowd }, () => bob.call('GET', small)))
      served = answers.every(({ status }) => status === 200)
    }
    t.pass('it serves as many as it refused')
    const told = service
      .stdout()
      .split('\n')
      .filter((line) => line.includes('the event loop lags'))
    const refused = service.stdout().split('"status":503').length - 1
    t.ok(told.length > 0 && told.length < refused / 4, `${told.length} log lines report ${refused} refusals`)
  })

  t.test('A push of 32 MiB beside ten clients with small requests: nobody is refused', async (t) => {
    const { bob, push } = await start(t)
    let over = false
    const statuses = new Set<number>()
    const asking = Promise.all(
      Array.from({ length: 10 }, async () => {
        while (!over) statuses.add((await bob.call('GET', small)).status)
      }),
    )
    for (let time = 0; time < 2; time++) t.equal((await push(10_000, 3000)).status, 200)
    over = true
    await asking
    t.same([...statuses], [200])
  })
}

/** Half a MiB of empty objects, which are not changes. */
async function sendLong({ origin }: Service, cookie: string): Promise<number> {
  const headers = { cookie, 'content-type': 'application/json' }
  const response = await fetch(`${origin}/api/v1/sync/push`, { method: 'POST', headers, body: long })
  await response.arrayBuffer()
  return response.status
}
