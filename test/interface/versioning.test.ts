import t from 'tap'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import packageJson from '../../package.json' with { type: 'json' }
import { buildApp } from '../support/app.ts'
import { allOperations } from '../support/operations.ts'

const app = await buildApp(t)

t.test('1. All endpoints live under the path prefix /api/v1.', async (t) => {
  for (const { id, method, path } of allOperations) {
    t.ok(path.startsWith('/api/v1/'), id)
    t.not((await app.call(method, path)).status, 404, `${id} is there`)
    for (const other of [path.replace('/api/v1', ''), path.replace('v1', 'v2'), path.toUpperCase()]) {
      t.equal((await app.call(method, other)).status, 404, `${method} ${other} is not`)
    }
  }
})

t.test('2. The health report carries a version string for the API.', async (t) => {
  const { version } = (await app.call('GET', '/api/v1/health')).body
  t.match(version, /^\d+\.\d+\.\d+$/)
  t.equal(version, packageJson.version)
  t.equal(version, openapi.info.version)
})
