import { createHook } from 'node:async_hooks'
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'

const requests = 50

/**
 * How many promises the process makes for one of many requests on one connection: the median, since a probe of the
 * service's own may run beside a few of them. The client makes none.
 */
async function countPromises(t: Test, origin: string, request: string): Promise<number> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  const finished = Promise.withResolvers<void>()
  const counts: number[] = []
  let [promises, sent] = [0, 0]
  const hook = createHook({
    init(_id, type) {
      if (type === 'PROMISE') promises++
    },
  }).enable()
  t.teardown(() => hook.disable())
  const sendNext = () => {
    // The first ones compile validators and queries.
    if (sent > requests) counts.push(promises)
    promises = 0
    sent++
    if (sent > 2 * requests) finished.resolve()
    else socket.write(request)
  }
  socket.on('data', (response) => {
    if (!response.includes('HTTP/1.1 200 ')) finished.reject(new Error(String(response)))
    sendNext()
  })
  await once(socket, 'connect')
  sendNext()
  await finished.promise
  return counts.toSorted((one, other) => one - other)[counts.length / 2] ?? Number.NaN
}

function post({ cookie }: TestUser, path: string, body: string): string {
  const head = [`POST ${path} HTTP/1.1`, 'Host: x', `Cookie: ${cookie}`, 'Content-Type: application/json']
  return [...head, `Content-Length: ${body.length}`, '', body].join('\r\n')
}

t.test('A request makes few promises, whatever it passes on its way', async (t) => {
  const { user, listen } = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '100000' })
  const [origin, ada] = [await listen(), await user('ada')]
  const health = await countPromises(t, origin, 'GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n')
  const pull = await countPromises(t, origin, post(ada, '/api/v1/sync/pull', '{}'))
  t.comment(`${health} for a report, ${pull} for a pull of nothing`)
  t.ok(health <= 10, `${health} for a report`)
  t.ok(pull <= 32, `${pull} for a pull of nothing`)
})
