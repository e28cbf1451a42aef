import t from 'tap'
import { openAdmin } from '../support/admin.ts'
import { buildApp } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { endLeases } from '../support/exports.ts'
import { createFakeS3, refusal, startTlsServer } from '../support/s3-servers.ts'
import { until } from '../support/until.ts'

t.test('Without object store and provider the service starts and syncs, and exports wait for the store', async (t) => {
  const present = createFakeS3({ ssec: 'kept' })
  let store: typeof present = (_request, response) => response.writeHead(503).end()
  const env = await startTlsServer(t, (request, response) => store(request, response))
  // The provider in the tests' settings is never reachable.
  const app = await buildApp(t, env)
  const { admin } = openAdmin(t, app)
  const ada = await app.user('ada')
  const readiness = async () => {
    const { statusCode, body } = await admin.inject('/readyz')
    return `${statusCode} ${body}`
  }
  await until(async () => (await readiness()) === '200 {"status":"degraded","down":["objects","provider"]}')
  t.match((await admin.inject('/metrics')).body, 'ebs_component_up{component="objects"} 0\n')
  const pushed = await push(ada, change({ entity_id: 'a' }))
  t.equal(pushed.status, 200)
  await ada.call('POST', '/api/v1/exports')
  const logged = (text: string) => app.log.some((line) => line.includes(text))
  await until(() => logged('an export is postponed'))

  store = (_request, response) => response.writeHead(404).end(refusal('NoSuchBucket', 'There is no such bucket'))
  await until(() => logged('"level":50') && logged('S3_BUCKET: '))
  t.match(await readiness(), /^200 .*"objects"/, 'a reachable store without its bucket does not end the service')

  store = present
  const status = async () => {
    await endLeases(app.context)
    app.context.exportWorker.wake()
    const { body } = await ada.call('GET', '/api/v1/exports')
    return body.exports[0].status
  }
  await until(async () => (await status()) === 'completed')
  await until(async () => (await readiness()) === '200 {"status":"degraded","down":["provider"]}')
})
