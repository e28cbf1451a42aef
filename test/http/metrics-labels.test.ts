import { randomBytes, randomInt } from 'node:crypto'
import t, { type Test } from 'tap'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { operations } from '../../generated/operations.ts'
import { allOperations } from '../hostile/requests.ts'
import { openDevice } from '../realtime/device.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import type { Exposition } from '../support/exposition.ts'

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND']

const sweeps = [
  ...['tokens', 'devices', 'rejections', 'nonces', 'accounts', 'versions', 'log'],
  ...['expired exports', 'failed exports', 'orphans'],
]

/** The possible values of each of our labels, besides a request's operation and status. */
const allowed: Record<string, readonly string[]> = {
  ebs_http_request_duration_seconds: [...Object.keys(operations), 'none', '2xx', '3xx', '4xx', '5xx'],
  ebs_http_requests_abandoned_total: [...Object.keys(operations), 'none'],
  ebs_sync_changes: ['pushChanges', 'pullChanges', 'importBookmarks'],
  ebs_sync_conflicts_total: ['rejected', 'overwritten'],
  ebs_rate_limit_refusals_total: ['address', 'user'],
  ebs_export_attempts_total: ['completed', 'failed', 'postponed', 'dropped'],
  ebs_exports: ['pending', 'processing', 'failed'],
  ebs_database_connections: ['busy', 'idle'],
  ebs_sign_ins_total: ['completed', 'expired', 'refused', 'disabled', 'unavailable', 'failed'],
  ebs_swept_total: sweeps,
  ebs_sweep_failures_total: sweeps,
  ebs_pulses_total: ['sent', 'received'],
  ebs_component_up: ['database', 'objects', 'provider'],
}

function ours({ families }: Exposition) {
  return [...families]
    .filter(([family]) => family.startsWith('ebs_') && family !== 'ebs_build_info')
    .flatMap(([family, { samples }]) => samples.map(({ labels: { le, ...labels } }) => ({ family, labels })))
}

/** Each operation with the statuses that the contract gives it. */
function isRequest({ operation = '', status = '' }: Record<string, string>): boolean {
  if (operation === 'none') return ['200', '302', '400', '403', '404', '405', '503'].includes(status)
  if (operation === 'openRealtime' && status === '101') return true
  const { path, method } = operations[operation as keyof typeof operations]
  const paths = openapi.paths as unknown as Record<string, Record<string, { responses: object }>>
  return status in (paths[path]?.[method.toLowerCase()]?.responses ?? {})
}

function checkLabels(t: Test, metrics: Exposition): void {
  const strange = ours(metrics).filter(({ family, labels }) =>
    family === 'ebs_http_requests_total'
      ? !isRequest(labels)
      : Object.values(labels).some((value) => !allowed[family]?.includes(value)),
  )
  t.same(strange, [], 'labels are from the contract, or from a list')
}

t.test('Neither what callers send nor who they are is in the metrics', async (t) => {
  const app = await buildApp(t)
  const { admin, scrape } = openAdmin(t, app)
  const origin = await app.listen()
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const canary = (what: string) => `canary-${what}`
  const headers = { 'x-device-id': canary('device'), 'x-user-id': canary('user'), 'user-agent': canary('agent') }
  const cookies = [ada.cookie, `service_session=${canary('session')}`, '']
  for (const { method, path, body } of allOperations({ bookmark: canary('bookmark'), export: canary('export') })) {
    for (const cookie of cookies) {
      const url = `${path}?${canary('query')}=${canary('value')}`
      await app.app.inject({
        method: method as 'GET',
        url,
        headers: {
          ...headers,
          cookie,
          origin: cookie ? 'http://127.0.0.1:3000' : `https://${canary('origin')}.example`,
        },
        ...(body && { payload: { ...body, [canary('field')]: canary('value') } }),
      })
    }
  }
  for (const method of methods)
    await app.app.inject({ method: method as 'GET', url: `/${canary('path')}`, headers: { ...headers, origin: '' } })
  for (const path of [`/%zz${canary('bad')}`, `/api/v1/bookmarks/${canary('x').repeat(2000)}`, '/api/v1/metrics'])
    await app.app.inject({ url: path, headers })
  const device = await openDevice(t, origin, bob, { deviceId: canary('device') })
  device.send({ type: 'sync', event: change({ entity_id: canary('entity'), device_id: canary('device') }) })
  await device.takeEntities(canary('entity'))

  const { body } = await admin.inject('/metrics')
  t.notMatch(body, /canary/i)
  for (const { userId, loginId, session } of [ada, bob])
    for (const id of [userId, loginId, session]) t.notOk(body.includes(id), id)
  checkLabels(t, await scrape())
})

const many = depth(200, 1000)
t.test(`${many} random paths and methods make no more series than a few`, async (t) => {
  const app = await buildApp(t)
  const { scrape } = openAdmin(t, app)
  const { cookie } = await app.user('ada')
  const begin = ['/', '/api/v1/', '/api/v1/bookmarks/', '/api/v1/exports/', '/docs/', '/metrics/', '/livez']
  const send = async (count: number) => {
    for (let sent = 0; sent < count; sent += 1) {
      const url = `${begin[sent % begin.length]}${randomBytes(randomInt(1, 60)).toString('base64url')}`
      await app.app.inject({ method: methods[sent % methods.length] as 'GET', url, headers: { cookie } })
    }
  }
  await send(begin.length * methods.length)
  const before = await scrape()
  await send(many)
  const after = await scrape()
  const series = (metrics: Exposition) => [...new Set(ours(metrics).map((sample) => JSON.stringify(sample)))].sort()
  t.same(series(after), series(before))
  checkLabels(t, after)
  const requests = (metrics: Exposition) =>
    Object.values(metrics.byLabel('ebs_http_requests_total')).reduce((sum, count) => sum + count, 0)
  t.equal(requests(after) - requests(before), many, 'each is counted')
})
