import { once } from 'node:events'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../../scripts/development/servers/free-port.ts'
import type { TestUser } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { parseExposition } from '../support/exposition.ts'
import { folder, type Service, signInBefore, startService } from '../support/service.ts'

t.test('The admin listener is where it was said, there alone, and says so', async (t) => {
  const dataDir = await folder(t)
  await signInBefore(t, dataDir, [])
  const port = await freePort()
  const service = await startService(t, dataDir, { ADMIN_PORT: String(port), ADMIN_HOST: '127.0.0.2' })
  t.match(service.stdout(), `metrics  port ${port} on 127.0.0.2\n`)
  await service.call('GET', '/api/v1/health')
  const metrics = parseExposition(await (await fetch(`http://127.0.0.2:${port}/metrics`)).text())
  t.ok(Number(metrics.byLabel('ebs_http_requests_total')['getHealth,200']) >= 1)
  t.notOk(await accepts(port), 'nowhere else')
  t.equal((await fetch(`${service.origin}/metrics`)).status, 404)
  t.same(await service.kill('SIGTERM'), { code: 0, signal: null })

  const again = await startService(t, dataDir)
  await again.kill('SIGTERM')
  t.notMatch(again.stdout(), /metrics/, 'without ADMIN_PORT there is none')
  t.same(again.stdout().match(/listening at http:[^"]+/g), [`listening at ${again.origin}`])
})

t.test(
  'While the service stops: not ready, alive, and still measured, until the last request is answered',
  async (t) => {
    const dataDir = await folder(t)
    const [ada] = (await signInBefore(t, dataDir, ['ada'])) as [TestUser]
    const port = await freePort()
    const service = await startService(t, dataDir, { ADMIN_PORT: String(port) })
    const admin = `http://127.0.0.1:${port}`
    t.equal((await fetch(`${admin}/readyz`)).status, 200)
    const body = JSON.stringify({ changes: [change({ entity_id: 'late' })] })
    const upload = await beginPush(service, ada, body)
    const kept = connect(Number(new URL(service.origin).port), '127.0.0.1')
    const lines = 'GET /readyz HTTP/1.1\r\nHost: localhost\r\n'
    kept.write(`${lines}\r\n${lines}`)
    t.match(String(await once(kept, 'data')), /^HTTP\/1\.1 200 /)

    const exited = service.kill('SIGTERM')
    while ((await fetch(`${admin}/readyz`)).status === 200) await sleep(2)
    t.same(await (await fetch(`${admin}/readyz`)).json(), { status: 'stopping' })
    kept.write('\r\n')
    t.match(await text(kept), /^HTTP\/1\.1 503 .*"stopping"}$/s, 'also over a connection that is open')
    t.equal((await fetch(`${admin}/livez`)).status, 200)
    t.ok(parseExposition(await (await fetch(`${admin}/metrics`)).text()).families.size > 0)
    upload.end(body.slice(20))
    const [response] = await once(upload, 'response')
    t.equal(response.statusCode, 200)
    response.resume()
    t.same(await exited, { code: 0, signal: null })
    t.notOk(await accepts(port))
  },
)

/** A push of which the service has begun to receive the body. */
async function beginPush({ origin }: Service, { cookie }: TestUser, body: string): Promise<ClientRequest> {
  const headers = { cookie, 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' }
  const upload = httpRequest(`${origin}/api/v1/sync/push`, { method: 'POST', headers })
  upload.flushHeaders()
  await once(upload, 'continue')
  upload.write(body.slice(0, 20))
  return upload
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const accepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return accepted
}
