import { readFile } from 'node:fs/promises'
import t from 'tap'
import { startHealth } from '../../src/service/operating/health.ts'
import { buildApp } from '../support/app.ts'
import { breakDatabase } from '../support/database.ts'

const app = await buildApp(t)

t.test('GET /api/v1/health | none | 200: health report', async (t) => {
  const { status, body } = await app.call('GET', '/api/v1/health')
  t.equal(status, 200)
  t.same(Object.keys(body).sort(), ['environment', 'name', 'status', 'timestamp', 'version'])
})

t.test('health always responds with 200, even without a database', async (t) => {
  const broken = await buildApp(t)
  t.teardown(breakDatabase(broken.context))
  const probe = startHealth(broken.context)
  await probe.close()
  broken.context.health = probe
  const { status, body } = await broken.call('GET', '/api/v1/health')
  t.same([status, body.status], [200, 'unhealthy'])
})

t.test('Not in the interface: /readyz', async (t) => {
  const ready = await app.app.inject('/readyz')
  t.equal(ready.statusCode, 200)
})

t.test('Not in the interface: the contracts and their page', async (t) => {
  for (const name of ['openapi.yaml', 'asyncapi.yaml']) {
    const { statusCode, headers, body } = await app.app.inject(`/${name}`)
    t.same([statusCode, headers['content-type']], [200, 'application/yaml; charset=utf-8'])
    t.equal(body, await readFile(new URL(`../../${name}`, import.meta.url), 'utf8'), 'as written')
  }
  const page = await app.app.inject('/docs/http')
  t.equal((await app.app.inject('/docs/')).statusCode, 200)
  t.same([page.statusCode, page.headers['content-type']], [200, 'text/html; charset=utf-8'])
  t.match(page.headers['content-security-policy'], /^default-src 'none'; script-src 'self';/)
  t.equal((await app.app.inject('/')).headers.location, '/docs')
  const browser = { accept: 'text/html,*/*;q=0.8', host: 'sync.example.org' }
  const outdated = await app.app.inject({ url: '/docs/outdated.html', headers: browser })
  t.same([outdated.statusCode, outdated.headers['content-type']], [404, 'text/html; charset=utf-8'])
  t.match(outdated.body, '<title>404 · ')
  const deeper = await app.app.inject({ url: '/docs/operating/nothing', headers: browser })
  t.same([deeper.statusCode, deeper.body], [404, outdated.body])
  const asInRepository = await app.app.inject({ url: '/docs/operating/configuration.md', headers: browser })
  t.same([asInRepository.statusCode, asInRepository.headers.location], [302, '/docs/configuration'])
  const program = await app.app.inject('/docs/outdated.html')
  t.same([program.statusCode, program.json()], [404, { error: 'Not found' }])
})
