import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { openDevice } from '../realtime/device.ts'
import { buildApp } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { pick } from '../support/pick.ts'
import { createFakeS3, startTlsServer } from '../support/s3-servers.ts'
import { until } from '../support/until.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${spanId}-01`
const health = '/api/v1/health'

t.test("A caller's trace appears in the log and in requests to the provider and the object store", async (t) => {
  const fake = createFakeS3({ ssec: 'kept' })
  const stored: (string | undefined)[] = []
  const s3 = await startTlsServer(t, (request, response) => {
    const { traceparent, tracestate } = request.headers as Record<string, string | undefined>
    stored.push(traceparent && `${request.method} ${traceparent} ${tracestate}`)
    fake(request, response)
  })
  const { call, mock, log } = await buildWithMock(t, { ...s3 })
  const headers = { traceparent, tracestate: 'vendor=opaque' }
  const browser = openBrowser((method, path, request) =>
    call(method, path, { ...request, headers: { ...request?.headers, ...headers } }),
  )
  await browser.signIn('Ada')
  const traced = mock.requests.filter((request) => request.traceparent === traceparent)
  t.same(
    pick(traced, 'endpoint'),
    ['discovery', 'token', 'jwks', 'userinfo'].filter((name) => traced.some(({ endpoint }) => endpoint === name)),
  )
  t.ok(traced.some(({ endpoint }) => endpoint === 'token'))

  const { body } = await browser.call('POST', '/api/v1/exports')
  await until(async () => (await browser.call('GET', '/api/v1/exports')).body.exports[0].status === 'completed')
  // The fake store cannot serve this request, but it records it.
  await browser.call('GET', `/api/v1/exports/${body.id}`)
  t.ok(stored.includes(`GET ${traceparent} vendor=opaque`), stored.join())

  const lines = log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
  t.same(new Set(lines.map(({ trace_id }) => trace_id)), new Set([traceId]))
})

t.test('An invalid traceparent is ignored', async (t) => {
  const { call, log } = await buildApp(t)
  const zeros = (length: number) => '0'.repeat(length)
  const invalid = [
    traceparent.toUpperCase(),
    `ff${traceparent.slice(2)}`,
    `${traceparent}-more`,
    `00-${zeros(32)}-${spanId}-01`,
    `00-${traceId}-${zeros(16)}-01`,
    `${traceparent}, ${traceparent}`,
    'x'.repeat(2000),
  ]
  for (const value of invalid) await call('GET', health, { headers: { traceparent: value } })
  await call('GET', health, { headers: { traceparent: `01${traceparent.slice(2)}-later` } })
  const lines = log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
  t.same(pick(lines, 'trace_id'), [...invalid.map(() => undefined), traceId], 'a later version is accepted')
})

t.test("Spans go to a collector if OpenTelemetry's variables name one", async (t) => {
  const collector = await startCollector(t)
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
  t.teardown(() => delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT)
  const app = await buildWithMock(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  await app.call('GET', `${health}?canary=1`, { headers: { traceparent } })
  await openBrowser(app.call).signIn('Ada')
  await app.call('GET', `/nowhere/canary`)
  const device = await openDevice(t, await app.listen(), await app.user('ada'))
  device.socket.terminate()
  await app.close()
  const byName = new Map(collector.spans.map((span) => [span.name, span]))
  t.match(byName.get(`GET ${health}`), { traceId, parentSpanId: spanId, kind: 2 }, "continues the caller's trace")
  const [login, called] = [byName.get('GET /api/v1/auth/callback'), byName.get('provider POST')]
  t.match(called, { traceId: login?.traceId, parentSpanId: login?.spanId, kind: 3 })
  t.ok(app.mock.requests.some((request) => request.traceparent === `00-${called?.traceId}-${called?.spanId}-01`))
  t.ok(byName.has('GET unknown path'))
  t.match(
    byName.get('GET /api/v1/sync/realtime'),
    { status: { code: 0 } },
    "a socket's span ends with the upgrade, without an error",
  )
  t.notMatch(JSON.stringify(collector.received), /canary|code=|state=/)
  t.match(JSON.stringify(collector.received), /service\.name.*encrypted-bookmark-sync/)
})

interface Span {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  kind: number
}

/** Receives OTLP over HTTP, as JSON. */
async function startCollector(t: Test) {
  const received: unknown[] = []
  const spans: Span[] = []
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }
    received.push(body)
    spans.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, spans }
}
