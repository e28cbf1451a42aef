import { createHook } from 'node:async_hooks'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'

const requests = 50
const rounds = 15

/** Sends a request again and again on one connection. `after` is called with each response. The client makes no promise. */
async function repeat(t: Test, origin: string, request: string, times: number, after: () => void): Promise<void> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  const finished = Promise.withResolvers<void>()
  let received = 0
  socket.on('data', (response) => {
    if (!response.includes('HTTP/1.1 200 ')) finished.reject(new Error(String(response)))
    received++
    after()
    if (received === times) finished.resolve()
    else socket.write(request)
  })
  await once(socket, 'connect')
  socket.write(request)
  await finished.promise
}

/** How many promises the process makes for a request: the median, since a probe of its own may run beside a few of them. */
async function countPromises(t: Test, origin: string, request: string): Promise<number> {
  const counts: number[] = []
  let promises = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') promises++
    },
  }).enable()
  t.teardown(() => hook.disable())
  // The first ones compile validators and queries.
  await repeat(t, origin, request, 2 * requests, () => {
    counts.push(promises)
    promises = 0
  })
  hook.disable()
  return median(counts.slice(requests))
}

/** How many bytes of a request stay until a long garbage collection: the median of some rounds. */
async function countSurvivingBytes(t: Test, origin: string, request: string): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect: (options: object) => void = runInNewContext('gc')
  const sizes: number[] = []
  let count = 0
  collect({ type: 'major' })
  await repeat(t, origin, request, rounds * requests, () => {
    if (++count % requests !== 0) return
    collect({ type: 'minor' })
    sizes.push(process.memoryUsage().heapUsed)
  })
  return Math.round(median(sizes.slice(1).map((size, index) => size - (sizes[index] ?? size))) / requests)
}

function median(figures: number[]): number {
  return figures.toSorted((one, other) => one - other)[Math.floor(figures.length / 2)] ?? Number.NaN
}

function post({ cookie }: TestUser, path: string, body: string): string {
  const head = [`POST ${path} HTTP/1.1`, 'Host: x', `Cookie: ${cookie}`, 'Content-Type: application/json']
  return [...head, `Content-Length: ${body.length}`, '', body].join('\r\n')
}

const { user, listen } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '100000', LOG_LEVEL: 'warn' })
const [origin, ada] = [await listen(), await user('ada')]
const report = 'GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n'
const pull = post(ada, '/api/v1/sync/pull', '{}')

// Comes first: the hook that counts promises keeps requests alive, even once it is disabled.
t.test('Hardly anything of a request stays in memory until a long garbage collection', async (t) => {
  const ofReport = await countSurvivingBytes(t, origin, report)
  const ofPull = await countSurvivingBytes(t, origin, pull)
  t.comment(`${ofReport} bytes of a report, ${ofPull} of a pull of nothing`)
  t.ok(ofReport < 2500, `${ofReport} bytes of a report`)
  t.ok(ofPull < 2500, `${ofPull} bytes of a pull of nothing`)
})

t.test('A request makes few promises, whatever it passes on its way', async (t) => {
  const ofReport = await countPromises(t, origin, report)
  const ofPull = await countPromises(t, origin, pull)
  t.comment(`${ofReport} for a report, ${ofPull} for a pull of nothing`)
  t.ok(ofReport <= 4, `${ofReport} for a report`)
  t.ok(ofPull <= 2, `${ofPull} for a pull of nothing`)
})
